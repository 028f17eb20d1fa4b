"""Valid bytes made invalid, or nearly so."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random

_LEXEMES = re.compile(rb'"[^"]*"|[{}:,\[\]]|[^"{}:,\[\]\s]+|\s+|"')


def mutated(rng: Random, data: bytes, others: Sequence[bytes], tokens: Sequence[bytes]) -> bytes:
    """One to three changes: of bytes, of pieces, of tokens, or of the whole with another."""
    random = rng.random
    for _ in range(1 + int(3 * random() ** 3)):
        size = len(data)
        at = int(random() * (size + 1))
        match int(random() * 9):
            case 0:  # a byte
                data = data[:at] + bytes((int(random() * 256),)) + data[at + 1 :]
            case 1:  # a bit
                if at < size:
                    flipped = data[at] ^ (1 << int(random() * 8))
                    data = data[:at] + bytes((flipped,)) + data[at + 1 :]
            case 8:  # a byte by one that often fits, too
                data = data[:at] + b"%d" % int(random() * 10) + data[at + 1 :]
            case 2:  # a piece left out
                data = data[:at] + data[at + 1 + int(random() * 8) :]
            case 3:  # a piece twice
                start = int(random() * (size + 1))
                data = data[:at] + data[start : start + int(random() * 30)] + data[at:]
            case 4 | 5:  # a token put in, or in the place of something
                token = tokens[int(random() * len(tokens))]
                data = data[:at] + token + data[at + int(random() * 2) * int(random() * 10) :]
            case 6:  # cut short
                data = data[:at]
            case 7:  # the rest of another
                other = others[int(random() * len(others))]
                data = data[:at] + other[int(random() * (len(other) + 1)) :]
    return data


def over_lines(data: bytes) -> bytes:
    """The same JSON with a newline behind every comma and opening bracket."""
    lexemes = _LEXEMES.findall(data)
    return b"".join(lex + b"\n " if lex in (b",", b"{", b"[") else lex for lex in lexemes)


def rearranged(rng: Random, data: bytes, tokens: Sequence[bytes]) -> bytes:
    """One to three changes of JSON by whole lexemes: what is left is more often nearly valid."""
    random = rng.random
    lexemes = _LEXEMES.findall(data)
    for _ in range(1 + int(3 * random() ** 2)):
        at = int(random() * (len(lexemes) + 1))
        match int(random() * 5):
            case 0:
                del lexemes[at : at + 1]
            case 1:  # one put in
                lexemes.insert(at, tokens[int(random() * len(tokens))])
            case 2:  # one in the place of another
                lexemes[at : at + 1] = [tokens[int(random() * len(tokens))]]
            case 3:  # some of them elsewhere, too: a member is four, with its comma
                start = int(random() * (len(lexemes) + 1))
                lexemes[at:at] = lexemes[start : start + 1 + int(random() * 8)]
            case 4:  # some of them elsewhere
                start, size = int(random() * (len(lexemes) + 1)), 1 + int(random() * 8)
                moved = lexemes[start : start + size]
                del lexemes[start : start + size]
                lexemes[at:at] = moved
    return b"".join(lexemes)
