"""Tuples as people and their programs write them: the scanner reads them as the plain reader."""

import json

import naive_decoding as naive
import numpy as np
import pytest

from sde.decoding import Limits, decode_tuples


def assert_equals_the_naive_way(payloads, limits=None):
    messages = naive.messages(payloads)
    decoded = decode_tuples(messages, 4, limits or Limits())
    good, bad = naive.decode(messages, limits)
    assert naive.refused(decoded.letters) == bad
    assert naive.tuples_of(decoded.blocks) == good


BEFORE = ("", "a", "seven77", "eight888", "\\t", "\u00e9" * 5)
ESCAPES = [
    r"\"",
    r"\\",
    r"\/",
    r"\b",
    r"\f",
    r"\n",
    r"\r",
    r"\t",
    r"\u0000",
    r"\u0041",
    r"\u00e9",
    r"\u00E9",
    r"\u20ac",
    r"\uffff",
    r"\ud83d\ude00",
    r"\uD800\uDC00",
    r"\udbff\udfff",
    r"\x",
    "\\",
    r"\u",
    r"\u12",
    r"\u123",
    r"\u00g0",
    r"\U0041",
    r"\ud800",
    r"\udc00",
    r"\ud83d\n",
    r"\ud83d\u0041",
    r"\ud83d\ud83d",
    r"\ud83d\ude0",
    r"\ud83dxude00",
    "\x1f",
    "\xe9",
]


@pytest.mark.parametrize("escape", ESCAPES)
def test_an_escape_means_what_python_says_wherever_in_a_text_it_stands(escape):
    texts = [before + escape + behind for before in BEFORE for behind in ("", "x", "\\n", "x" * 9)]
    rows = []
    for text in texts:
        rows.append(f'{{"dataset":"d","stream":"{text}","v":"{text}"}}')
        rows.append(f'{{"dataset":"d","stream":"s","{text}":1,"n":{{"{text}":"{text}"}}}}')
    assert_equals_the_naive_way([row.encode() for row in rows])
    assert_equals_the_naive_way([row.encode("latin-1") for row in rows])


def test_texts_with_escapes_get_room_as_they_need_it():
    """Each batch begins without any; a row that does not fit is read again."""
    rng = np.random.default_rng(1)
    texts = ["\u00e9" * int(n) for n in rng.integers(0, 2000, 300)]
    rows = [{"dataset": "d", "stream": text[:99] + "s", "v": text} for text in texts]
    assert_equals_the_naive_way([json.dumps(row).encode() for row in rows])
    assert_equals_the_naive_way([b"\n".join(json.dumps(row).encode() for row in rows)])


NESTED = [
    "[]",
    "[ ]",
    "{}",
    "[1,2]",
    '{"a":[{}]}',
    "[ true , null ]",
    "[" * 31 + "]" * 31,
    "[" * 1020 + "]" * 1020,
    '{"a":1,"a":2}',
    '["\\n"]',
    "[1e999]",
    "[1e-999]",
    "[18446744073709551616]",
    "[,]",
    "[1,]",
    "[1 1]",
    "[}",
    "{]",
    '{"a"}',
    '{"a":}',
    '{"a":1,}',
    "{1:1}",
    "[01]",
    "[nul]",
    '["\\x"]',
    '["\x01"]',
    "[" * 40 + "]" * 39,
]


@pytest.mark.parametrize("value", NESTED)
def test_a_nested_value_is_missing_if_it_is_json_and_else_the_row_is_refused(value):
    for row in (
        f'{{"dataset":"d","stream":"s","values":{{"v":1,"n":{value}}}}}',
        f'{{"dataset":"d","stream":"s","n":{value},"v":1}}',
        f'{{"dataset":"d","n":{value},"stream":"s","values":{{"v":1}}}}',
        f'{{"dataset":"d","stream":"s","v":1,"time":{value}}}',
        f'{{"dataset":{value},"dataSetkey":"d","stream":"s","v":1}}',
    ):
        assert_equals_the_naive_way([row.encode()] * 3)


def test_a_number_that_names_a_stream_is_that_number_however_it_is_written():
    numbers = [
        "0",
        "-0",
        "7",
        "-7",
        "07",
        "7.5",
        "7.50",
        "-7.5",
        "0.5",
        "0.05",
        "0.00001",
        "7.0",
        "75e-1",
        "1e3",
        "0e1",
        "9007199254740993",
        "9223372036854775808",
        "1e400",
        "123456789.1234567",
        "123456789.12345678",
    ]
    for number in numbers:
        assert_equals_the_naive_way([f'{{"dataset":"d","stream":{number},"v":1}}'.encode()] * 3)
        assert_equals_the_naive_way([f'{{"dataset":{number},"stream":"s","v":1}}'.encode()] * 3)


def test_a_time_with_a_fraction_is_cut_to_the_millisecond_before_it():
    times = ["1.5", "-1.5", "-62135596800000", "-62135596800000.5", "253402300799999.5", "1e12"]
    for time in [*times, "1.7e12", "null", "true", '"5"', "[]"]:
        row = f'{{"dataset":"d","stream":"s","time":{time},"v":1}}'
        assert_equals_the_naive_way([row.encode()] * 3)


def test_rows_of_many_producers_are_read_as_those_of_one():
    """More of them than shapes are kept."""
    forms = [
        '{"dataset":"d","stream":"s","v":%s}',
        '{"v":%s,"dataset":"d","stream":"s"}',
        '{"dataset":"d","stream":"s","values":{"v":%s}}',
        '{"dataset":"d", "stream":"s", "v":%s}',
        '{"stream":"s","v":%s,"dataset":"d"}',
        '{"dataset":"d","stream":"s","v":%s,"w":%s}',
        '{"values":{"v":%s,"x":{"y":[%s]}},"dataset":"d","stream":"s"}',
    ]
    rng = np.random.default_rng(2)
    values = ["1", "-2.5", '"x"', '"\\n"', "null", "true", "false", "[]", "1e", "{}"]
    rows = []
    for form in rng.choice(forms, 3000):
        some = rng.choice(values, form.count("%s"))
        rows.append((form % tuple(some)).encode())
    assert_equals_the_naive_way(rows)


def test_messages_over_several_lines_are_one_object_or_else_lines():
    good = b'{"dataset":"d",\n"stream":"s","v":1}'
    line = b'{"dataset":"d","stream":"s","v":2}'
    messages = [
        good,
        line,
        b'{"dataset":"d",\n' + line,
        line + b"\n" + line,
        b"\n\n" + good + b"\n",
        b"[\n" + line,
        b"\xef\xbb\xbf" + good,
        b"\xef\xbb\xbf\n" + line,
        b"\xef\xbb\xbfx\n" + line,
        b"x\n\n" + line,
        b"\xef\xbb\xbf\xef\xbb\xbf" + good,
        good + b"\n" + line,
        good[:-1] + b"\n",
        b'"x"\n' + line,
        b'{"v":\n1}',
    ]
    for some in (messages, messages + messages[::-1], *([message] for message in messages)):
        assert_equals_the_naive_way(some)
        assert_equals_the_naive_way(some, Limits(max_tuple_bytes=40))
        assert_equals_the_naive_way(some, Limits(max_fields=1))
