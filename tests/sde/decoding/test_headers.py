"""Headers and keys of messages: what the kernel finds is what a plain reader finds."""

from random import Random

import pytest

from bench.fuzzing.mutations import mutated
from sde.decoding import Pieces
from sde.decoding.headers import header_values, packed_headers
from sde.testing.messages import messages

NAMES = ("site", "sit", "sites", "", "ü" * 40)
TOKENS = (b"\x00", b"\x01", b"\x08site", b"\xff" * 12, b"\xfe" + b"\xff" * 8 + b"\x01", b"\x80")


def some_headers(rng):
    return [
        (rng.choice(NAMES), rng.choice([None, b"", b"a value", rng.randbytes(200)]))
        for _ in range(rng.randrange(6))
    ]


class Damaged(Exception):
    pass


def naive_value(data, name):
    """The value of the last header with the name; None if there is none."""
    if data is None:
        return None
    at = 0

    def varint():
        nonlocal at
        number = 0
        for place in range(10):
            if at >= len(data):
                raise Damaged
            number |= (data[at] & 0x7F) << 7 * place
            at += 1
            if not data[at - 1] & 0x80:
                break
        number &= (1 << 64) - 1
        return (number >> 1) ^ -(number & 1)

    def piece(size):
        nonlocal at
        if not 0 <= size <= len(data) - at:
            raise Damaged
        at += size
        return data[at - size : at]

    found = None
    try:
        for _ in range(varint()):
            header = piece(varint())
            size = varint()
            value = None if size < 0 else piece(size)
            if header == name.encode():
                found = value
    except Damaged:
        return None
    return found


def test_the_value_of_a_header_is_that_of_the_last_one_with_its_name():
    rng = Random(1)
    sent = [some_headers(rng) for _ in range(2000)]
    packed = Pieces.of([packed_headers(headers) for headers in sent])
    for name in (*NAMES, "none has it"):
        assert list(header_values(packed, name)) == [dict(headers).get(name) for headers in sent]


def test_damaged_headers_are_read_as_a_plain_reader_reads_them():
    rng = Random(2)
    whole = [packed_headers(some_headers(rng)) for _ in range(50)]
    data = [mutated(rng, rng.choice(whole), whole, TOKENS) for _ in range(20_000)] + [None, b""]
    for name in ("site", ""):
        found = header_values(Pieces.of(data), name)
        assert list(found) == [naive_value(one, name) for one in data]


def test_what_is_no_text_is_missing_and_harms_no_other():
    pieces = Pieces.of([b"a", b"\xff", None, b"\xc3", b"\xbc", "ü".encode(), b""])
    column = pieces.texts()
    assert column.valid.tolist() == [True, False, False, False, False, True, True]
    assert list(column.texts()) == ["a", "", "", "", "", "ü", ""]
    assert Pieces.of([b"a", b"b"]).texts().valid is None
    assert len(Pieces.of([]).texts()) == 0


@pytest.mark.parametrize(("first", "stop"), [(0, 3), (1, 2), (2, 3)])
def test_a_part_of_messages_has_their_keys_and_headers(first, stop):
    sent = messages([b"a", b"b", b"c"], keys=[b"k", None, b""], headers=[[("n", b"v")], [], []])
    part = sent.part(first, stop)
    assert list(part.keys) == list(sent.keys)[first:stop]
    assert list(part.headers) == list(sent.headers)[first:stop]
    assert list(header_values(sent.headers, "n")) == [b"v", None, None]
