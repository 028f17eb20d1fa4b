"""Keys become hashes: the 128-bit MurmurHash3 (x64, seed 9001) of the key's text form.

The text "12", the number 12 and the number 12.0 are one key: a number's text is its shortest
decimal form (whole numbers without a point). A key that several fields make is a list; its text
is the JSON array of their texts, `["X","12"]`. `hash_key` (one key, of a question) and
`hash_texts`, `hash_numbers` (columns) are the same function. Seed and construction are those of
Apache DataSketches, so sketches built on these hashes can be exchanged with it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import mmh3
import numpy as np
from numpy.typing import NDArray

from synopses.errors import QueryError
from synopses.kernels import key_lists, murmur3, numerals
from synopses.texts import Texts

HASH_SEED = 9001
_INT64_DIGITS = 20
_FLOAT64_DIGITS = 26  # of the longest float64 that is written here


def key_text(key: Any) -> str:
    """The text form of a key.

    >>> key_text("AAPL"), key_text(12), key_text(12.0), key_text(0.5), key_text(True)
    ('AAPL', '12', '12', '0.5', 'true')
    >>> key_text(["X", 12])
    '["X","12"]'
    """
    if isinstance(key, list | tuple) and key and not any(isinstance(k, list | tuple) for k in key):
        return json.dumps([key_text(k) for k in key], ensure_ascii=False, separators=(",", ":"))
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int) and key.bit_length() <= 128:
        return str(key)
    if isinstance(key, float) and np.isfinite(key):
        return str(int(key)) if key.is_integer() and abs(key) < 2**63 else repr(key)
    raise QueryError("key", key, "a text, a number, true or false, or a list of these")


def hash_key(key: Any) -> NDArray[np.uint64]:
    """The hash of one key, shape (1, 2)."""
    pair = mmh3.hash64(key_text(key).encode(), seed=HASH_SEED, signed=False)
    return np.array([pair], np.uint64)


def hash_texts(texts: Texts) -> NDArray[np.uint64]:
    """The hashes of a column of texts, shape (n, 2)."""
    out = np.empty((len(texts), 2), np.uint64)
    murmur3.hash_spans(
        texts.buffer, texts.offsets[:-1], texts.offsets[1:], np.uint64(HASH_SEED), out
    )
    return out


def list_texts(fields: Sequence[Texts]) -> Texts:
    """The text forms of keys that several fields make: `key_text` of each row.

    >>> list(list_texts([Texts.of(["X", 'a"b']), Texts.of(["12", ""])]))
    ['["X","12"]', '["a\\\\"b",""]']
    """
    sizes = np.ones(len(fields[0]), np.int64)  # for the last bracket
    for texts in fields:
        key_lists.measure(texts.buffer, texts.offsets, sizes)
    offsets = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=offsets[1:])
    buffer, places = np.empty(offsets[-1], np.uint8), offsets[:-1].copy()
    for number, texts in enumerate(fields):
        key_lists.put(texts.buffer, texts.offsets, number == 0, buffer, places)
    buffer[places] = ord("]")
    return Texts(buffer, offsets)


def number_texts(numbers: NDArray[Any]) -> Texts:
    """The text forms of a column of int64 or float64 numbers (NaN and infinities included)."""
    offsets = np.zeros(len(numbers) + 1, np.int64)
    if numbers.dtype == np.int64:
        buffer = np.empty(len(numbers) * _INT64_DIGITS, np.uint8)
        numerals.write_integers(numbers, buffer, offsets)
        return Texts(buffer[: offsets[-1]], offsets)
    buffer = np.empty(len(numbers) * _FLOAT64_DIGITS, np.uint8)
    done = 0
    while True:
        done += numerals.write_decimals(numbers[done:], buffer, offsets[done:])
        if done == len(numbers):
            return Texts(buffer[: offsets[-1]], offsets)
        number = float(numbers[done])
        text = (key_text(number) if np.isfinite(number) else repr(number)).encode()
        at = offsets[done]
        buffer[at : at + len(text)] = np.frombuffer(text, np.uint8)
        offsets[done + 1] = at + len(text)
        done += 1
        if done == len(numbers):
            return Texts(buffer[: offsets[-1]], offsets)


def hash_numbers(numbers: NDArray[Any]) -> NDArray[np.uint64]:
    """The hashes of a column of int64 or float64 numbers, shape (n, 2)."""
    return hash_texts(number_texts(numbers))
