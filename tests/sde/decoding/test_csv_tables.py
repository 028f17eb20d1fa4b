"""CSV is read as Python's csv module reads it; what is none is refused, and nothing beside it."""

import csv
import io
from random import Random

import numpy as np
import pytest
from reading_tables import Read

from bench.fuzzing.mutations import mutated
from sde.decoding import Limits
from sde.decoding.csv_tables import read_csv

NAMES = ("stream", "price", "note")
TEXTS = (
    "",
    "a",
    "12.50",
    " x ",
    'say "no"',
    "a,b",
    "two\nlines",
    "\r\n",
    "\u00e9\u4e2d",
    '""',
    "x" * 40,
)


def line(fields, **form):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n", **form).writerow(fields)
    return out.getvalue().encode()


def by_module(payload, delimiter=","):
    """The records of a message; csv.Error if it is not strictly CSV."""
    source = io.StringIO(payload.decode(), newline="")
    return [row for row in csv.reader(source, delimiter=delimiter, strict=True) if row]


def read(payloads, names=NAMES, **how):
    return Read(read_csv, payloads, names=names, **how)


def values(rows, names=NAMES):
    return [[row.get(name, "") for name in names] for row in rows]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_records_are_read_as_pythons_csv_module_reads_them(delimiter, quoting):
    rng = Random(delimiter)
    form = {"delimiter": delimiter, "quoting": quoting}
    payloads, expected, places = [], [], []
    for message in range(200):
        rows = [[rng.choice(TEXTS) for _ in NAMES] for _ in range(rng.choice((1, 1, 4)))]
        rows = [row for row in rows if any(row)]
        end = rng.choice(("\n", "\r\n"))
        text = b"".join(line(row, **form)[:-1] + end.encode() for row in rows)
        payloads.append(
            text.rstrip() if rng.random() < 0.5 and rows[-1:] and rows[-1][2] == "a" else text
        )
        assert by_module(payloads[-1], delimiter) == rows
        expected += rows
        places += [message] * len(rows)
    found = read(payloads, delimiter=delimiter)
    assert found.letters == []
    assert values(found.rows) == expected
    assert [message for message, _ in found.places] == places
    some = read(payloads, paths=frozenset({"note", "nobody"}), delimiter=delimiter)
    assert values(some.rows, ["note"]) == [row[2:] for row in expected]
    assert set(some.tables[0].columns) == {"note"}


@pytest.mark.parametrize("seed", range(20))
def test_mutated_messages_are_read_as_the_module_reads_them_or_refused(seed):
    rng = Random(seed)
    good = [line([rng.choice(TEXTS) for _ in NAMES]) for _ in range(30)]
    tokens = (b'"', b",", b"\n", b'""', b'","', b"\xff", b"\xc3", b"\r", b" ")
    spoilt = [mutated(rng, rng.choice(good), good, tokens) for _ in range(300)]
    spoilt = [payload for payload in spoilt if payload and b"\r" not in payload]
    found = read(spoilt)
    rows_of, refused = {}, {message for message, _ in found.refused}
    for (message, _), row in zip(found.places, values(found.rows), strict=True):
        rows_of.setdefault(message, []).append(row)
    for message, payload in enumerate(spoilt):
        try:
            expected = by_module(payload)
        except (csv.Error, UnicodeDecodeError):
            assert message in refused
            continue
        good_rows = [row for row in expected if len(row) == len(NAMES)]
        assert rows_of.get(message, []) == good_rows
        assert (message in refused) == (len(good_rows) < len(expected))


def test_a_bad_record_is_refused_alone_and_names_its_message_and_line():
    payloads = [
        b"a,1,x\nb,2\nc,3,z\n",
        b"d,4,y",
        b'"e"x,5,y\n\nf,6,y',
        b"g,7,\xff\nh,8,y",
        b'i,9,"\nj',
    ]
    found = read(payloads)
    assert [row["stream"] for row in found.rows] == list("acdfh")
    assert found.places == [(0, 0), (0, 2), (1, 0), (2, 2), (3, 1)]
    shown = [(letter["offset"] - 1000, letter["line"], letter["code"]) for letter in found.letters]
    assert shown == [(0, 1, "bad_record"), (2, 0, "bad_record"), (3, 0, "bad_encoding"),
                     (4, 0, "bad_record")]  # fmt: skip
    assert found.letters[0]["message"] == "not a record of CSV: 2 fields: expected 3"


def test_an_empty_field_is_missing_unless_it_is_in_quotes():
    assert read([b',"",x']).rows == [{"price": "", "note": "x"}]


def test_numbers_keep_the_text_they_were_written_with():
    column = read([b"s,12.50,", b"s, 007,", b"s,x,"]).tables[0].columns["price"]
    assert list(column.texts()) == ["12.50", " 007", "x"]
    assert column.numbers()[:2].tolist() == [12.5, 7]
    assert np.isnan(column.numbers()[2])


def test_names_in_the_first_line_hold_for_their_message():
    payloads = [
        b"\xef\xbb\xbfa,b\n1,2\n3,4\n",
        b"a,b\n5,6",
        b'"b","c d"\n7,8\n',
        b"a,b",
        b"a,a\n1,2\n",
    ]
    found = read(payloads, names=None)
    assert found.rows == [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}, {"a": "5", "b": "6"},
                          {"b": "7", "c d": "8"}]  # fmt: skip
    assert found.places == [(0, 1), (0, 2), (1, 1), (2, 1)]
    assert found.refused == [(4, "bad_record")]
    assert "expected different ones" in found.letters[0]["message"]


@pytest.mark.parametrize(
    "header", [b'"a', b"a,,b", b"\xff", b'"a"b,c', b"x" * 30, b"a,b,c,d,e,f", b"a" * 200]
)
def test_a_message_whose_names_cannot_be_read_is_refused_whole(header):
    limits = Limits(max_name=20, max_fields=5, max_tuple_bytes=100)
    found = Read(read_csv, [b"a\n1", header + b"\n1,2,3,4,5,6", b"a\n2"], limits=limits)
    assert found.rows == [{"a": "1"}, {"a": "2"}]
    assert [message for message, _ in found.refused] == [1]


def test_records_beyond_the_limit_are_refused():
    found = read([b"a,b,c\n" + b"x" * 50 + b",b,c"], limits=Limits(max_tuple_bytes=20))
    assert found.refused == [(0, "too_large")]
    assert len(found.rows) == 1
