"""UTF-8 is what Python decodes as UTF-8."""

from itertools import product
from random import Random

import numpy as np

from sde.kernels.compiling import kernel
from sde.kernels.utf8 import is_text, is_utf8

EDGES = [0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF]


@kernel
def check(buffer, ends, plain, fast):
    start = 0
    for i in range(ends.size):
        plain[i] = is_utf8(buffer, start, ends[i])
        fast[i] = is_text(buffer, start, ends[i])
        start = ends[i]


def decodes(text):
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def check_all(texts):
    """Side by side, so that whoever reads beyond an end finds what is not of this text."""
    buffer = np.frombuffer(bytearray(b"".join(texts) + bytes(8)), np.uint8)
    ends = np.cumsum([len(text) for text in texts])
    plain, fast = np.empty((2, len(texts)), np.bool_)
    check(buffer, ends, plain, fast)
    expected = [decodes(text) for text in texts]
    assert plain.tolist() == expected
    assert fast.tolist() == expected


def test_every_character_is_utf8_and_every_two_bytes_are_as_python_says():
    characters = [chr(c).encode() for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]
    check_all(characters)
    check_all([bytes([a, b]) for a in range(256) for b in range(256)])


def test_every_lead_with_what_may_follow_it_is_as_python_says():
    check_all([bytes(three) for three in product(range(0x80, 256), range(256), EDGES)])
    check_all([bytes(four) for four in product(range(0xEE, 256), range(256), EDGES, EDGES)])


def test_damaged_texts_are_found_wherever_they_are_damaged():
    rng, texts = Random(3), []
    for _ in range(20_000):
        text = bytearray("".join(rng.choices("abc déλ東😀", k=rng.randint(0, 20))).encode())
        if text and rng.random() < 0.5:
            text[rng.randrange(len(text))] = rng.choice(EDGES)
        texts.append(bytes(text[: rng.randint(0, len(text))] if rng.random() < 0.3 else text))
    assert 0.2 < sum(map(decodes, texts)) / len(texts) < 0.8
    check_all(texts)
