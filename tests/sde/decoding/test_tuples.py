"""Messages become blocks: what is good goes on, the rest gets its reason."""

import itertools
import json
from collections import Counter
from dataclasses import replace

import naive_decoding as naive
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sde.decoding import Limits, decode_tuples
from sde.tuples.block import UNREAD, completed
from sde.tuples.needs import Needs, NeedsByDataset
from synopses.hashing import hash_key

LIMITS = Limits()


def decode(*payloads, shards=4, limits=LIMITS):
    return decode_tuples(naive.messages(list(payloads)), shards, limits)


def assert_equals_the_naive_way(payloads, limits=LIMITS):
    messages = naive.messages(payloads)
    decoded = decode_tuples(messages, 4, limits)
    good, bad = naive.decode(messages, limits)
    assert naive.tuples_of(decoded.blocks) == good
    assert naive.refused(decoded.letters) == bad
    return decoded


NAMES = st.sampled_from(["price", "StockID", "volume", "time", "é", "", "values", "stream"])
VALUES = st.one_of(
    st.integers(-5, 5),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(-1e6, 1e6).map(lambda x: round(x, 2)),
    st.text(max_size=12),
    st.sampled_from(["12", "110.11", "x", "", 12, 12.0, 2**53 + 1, 2**63, -(2**63), 1e300]),
    st.booleans(),
    st.none(),
    st.just([1, {"a": 2}]),
)
FIELDS = st.dictionaries(NAMES, VALUES, max_size=5)
ENVELOPES = st.fixed_dictionaries(
    {},
    optional={
        "dataset": st.sampled_from(["Forex", "é", "F" * 600, "", 7, None]),
        "dataSetkey": st.just("Weather"),
        "stream": st.one_of(st.sampled_from(["S1", "S2", "a longer name than sixteen"]), VALUES),
        "streamID": st.just("S3"),
        "time": st.one_of(st.integers(0, 2**41), VALUES),
    },
)
GOOD = st.fixed_dictionaries(
    {
        "dataset": st.sampled_from(["Forex", "Weather"]),
        "stream": st.sampled_from(["S1", "S2", "a longer name than sixteen", "é", 7, 7.5]),
        "values": FIELDS,
    },
    optional={"time": st.integers(0, 2**41), "extra": VALUES},
)
FLAT = st.builds(lambda a, b: {**a, **b}, FIELDS, ENVELOPES)
STRING_VALUES = st.builds(lambda m: {**m, "values": json.dumps(m["values"])}, GOOD)
OBJECTS = st.one_of(
    GOOD, GOOD, FLAT, STRING_VALUES, st.builds(lambda a, f: {**a, "values": f}, ENVELOPES, VALUES)
)


@st.composite
def written(draw, objects):
    """The object as some program would write it."""
    comma, colon = draw(st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " : ")]))
    text = json.dumps(draw(objects), ensure_ascii=draw(st.booleans()), separators=(comma, colon))
    return text.encode("utf-8", "surrogatepass")


@st.composite
def damaged(draw, texts):
    data = bytearray(draw(texts))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, max(len(data) - 1, 0)))
        part = draw(st.sampled_from([b"", b'"', b"{", b"}", b",", b"\\", b"1", b"\n", b"\xff"]))
        data[at : at + draw(st.integers(0, 2))] = part
    return bytes(data)


LINES = st.one_of(
    written(OBJECTS), written(GOOD), damaged(written(OBJECTS)), st.sampled_from([b"", b" ", b"x"])
)
PAYLOADS = st.one_of(
    LINES,
    st.builds(
        lambda lines, end: end.join(lines), st.lists(LINES), st.sampled_from([b"\n", b"\r\n"])
    ),
    st.builds(lambda line: b"\xef\xbb\xbf" + line, LINES),
    st.binary(max_size=40).filter(lambda b: b[:4] != b"\xff\xff\xff\xff"),
)


@given(st.lists(PAYLOADS, max_size=12))
def test_any_messages_become_what_reading_them_one_by_one_gives(payloads):
    assert_equals_the_naive_way(payloads)


NEEDS = st.builds(Needs, st.frozensets(NAMES, max_size=3), st.booleans(), st.booleans())


@given(st.lists(PAYLOADS, max_size=12), st.dictionaries(st.sampled_from(["Forex", "é"]), NEEDS))
def test_leaving_out_what_nobody_reads_changes_nothing_else(payloads, needs):
    messages, wanted = naive.messages(payloads), NeedsByDataset(needs)
    whole, needed = (decode_tuples(messages, 4, LIMITS, each) for each in (None, wanted))
    assert needed.letters == whole.letters
    read = [block for block in whole.blocks if block.dataset in needs]
    selected = [block.select(wanted.of(block.dataset)) for block in read]
    assert _unread(needed.blocks) == _by_shard(b for b in whole.blocks if b.dataset not in needs)
    needed_read = [block for block in needed.blocks if block.dataset != UNREAD]
    for one, other in zip(needed_read, selected, strict=True):
        assert one.fields.keys() == other.fields.keys()
        assert replace(one, fields=other.fields).to_bytes() == other.to_bytes()
        for name in one.fields:
            assert list(one.texts(name)) == list(other.texts(name))
            assert one.column(name).valid is None or (
                one.column(name).valid.tolist() == other.column(name).valid.tolist()
            )


def _by_shard(blocks):
    """How many tuples of each data set there are, by shard."""
    counts = Counter()
    for block in blocks:
        counts[block.shard, block.dataset] += len(block)
    return counts


def _unread(blocks):
    """The same of the blocks of data sets that nobody reads."""
    counts = Counter()
    for block in blocks:
        if block.dataset == UNREAD:
            for number in block.stream_of.tolist():
                counts[block.shard, block.streams[number]] += 1
    return counts


def test_however_many_data_sets_nobody_reads_they_share_a_block_for_each_shard():
    rows = [f'{{"dataset":"d{i}","stream":"s{i % 7}","v":{i}}}' for i in range(5000)]
    rows += ['{"dataset":"Forex","stream":"s","v":1}'] * 3
    wanted = NeedsByDataset({"Forex": Needs(frozenset({"v"}))})
    decoded = decode_tuples(naive.messages(["\n".join(rows).encode()]), 4, LIMITS, wanted)
    assert sorted(b.dataset for b in decoded.blocks) == [*[UNREAD] * 4, "Forex"]
    assert {dataset for _, dataset in _unread(decoded.blocks)} == {f"d{i}" for i in range(5000)}


def test_a_block_of_unread_data_sets_is_read_again_once_one_of_them_is_read():
    rows = [f'{{"dataset":"d{i}","stream":"s","v":{i}}}'.encode() for i in range(20)]
    messages = naive.messages(rows)

    def again():
        return decode_tuples(messages, 1, LIMITS).blocks

    [unread] = decode_tuples(messages, 1, LIMITS, NeedsByDataset({})).blocks
    unread = replace(unread, read_again=again)
    assert completed([unread], NeedsByDataset({"other": Needs()})) == [unread]
    whole = completed([unread], NeedsByDataset({"d7": Needs()}))
    assert sorted(block.dataset for block in whole) == sorted(f"d{i}" for i in range(20))


@settings(max_examples=60, deadline=None)
@given(st.lists(written(GOOD), min_size=1, max_size=30), st.data())
def test_tuples_and_ids_do_not_depend_on_how_messages_are_fetched(payloads, data):
    whole = decode_tuples(naive.messages(payloads), 4, LIMITS).blocks
    cut = data.draw(st.integers(0, len(payloads)))
    parts = [
        *decode_tuples(naive.messages(payloads[:cut]), 4, LIMITS).blocks,
        *decode_tuples(naive.messages(payloads[cut:], 1000 + cut), 4, LIMITS).blocks,
    ]
    assert naive.tuples_of(whole) == naive.tuples_of(parts)
    assert _ids(whole) == _ids(parts)
    assert len(set(_ids(whole).values())) == len(payloads)


def _ids(blocks):
    return {
        (block.base + int(offset), block.shard): int(one)
        for block in blocks
        for offset, one in zip(block.offsets, block.ids(), strict=True)
    }


@given(st.lists(VALUES.filter(lambda v: not isinstance(v, list)), min_size=1, max_size=20))
def test_a_field_as_numbers_is_what_each_value_stands_for(values):
    rows = [{"dataset": "d", "stream": "s", "values": {"v": v}} for v in values]
    blocks = decode(*(json.dumps(r).encode("utf-8", "surrogatepass") for r in rows), shards=1)
    good, _ = naive.decode(naive.messages([json.dumps(r).encode() for r in rows]))
    expected = [naive.number(v[3]["v"]) if "v" in v[3] else np.nan for v in good.values()]
    for block in blocks.blocks:
        np.testing.assert_array_equal(block.numbers("v"), expected)


@pytest.mark.parametrize(
    "literal",
    [
        "0", "-0", "-0.0", "1.50", "1e3", "1E+3", "1e-3", "0.1", "123456789.123456789",
        "9007199254740993", "9223372036854775807", "9223372036854775808",
        "-9223372036854775808", "-9223372036854775809", "18446744073709551615",
        "18446744073709551616", "0.8444218515250481", "1.7976931348623157e308", "5e-324",
        "1e-400", "2.2250738585072011e-308", "1e22", "1e23", "12345678901234567890.5",
        "0." + "0" * 30 + "1", "1" + "0" * 40, "7.2057594037927933e16", "00000000", "12345678",
        "1.", ".5", "+1", "01", "-", "1e", "NaN", "Infinity", "0x10", "1e999",
    ],
)  # fmt: skip
def test_a_number_means_the_same_however_it_is_read(literal):
    row = b'{"dataset":"d","stream":"s","values":{"v":%s}}' % literal.encode()
    decoded = assert_equals_the_naive_way([row])
    # Rows after the first are read by its shape, and here nobody reads their number.
    nobody = decode_tuples(naive.messages([row] * 3), 4, LIMITS, NeedsByDataset({}))
    assert naive.refused(nobody.letters).keys() == naive.decode(naive.messages([row] * 3))[1].keys()
    if decoded.blocks:
        expected = float(json.loads(row)["values"]["v"])
        assert decoded.blocks[0].numbers("v")[0] == expected


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_text_is_utf8_to_the_scanner_exactly_if_it_is_to_python(size):
    leads = (0x41, 0x7F, 0x80, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0xF5, 0xFF)
    follows = (0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0)
    texts = [bytes(t) for t in itertools.product(leads, *[follows] * (size - 1))]
    decoded = decode(*(b'{"dataset":"d","stream":"%s","v":1}' % text for text in texts))
    read = {1000 + i for i, text in enumerate(texts) if _is_utf8(text)}
    assert {offset for offset, _ in naive.tuples_of(decoded.blocks)} == read
    assert {letter["code"] for letter in decoded.letters} == {"bad_encoding"}


def _is_utf8(text):
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_streams_are_told_apart_to_the_last_letter():
    names = [c * size for size in range(1, 40) for c in "ab"]
    names += [name[:-1] + "\x7f" for name in names]
    rows = [json.dumps({"dataset": "d", "stream": name, "v": 1}).encode() for name in names * 3]
    [block] = decode(*rows, shards=1).blocks
    distinct = list(dict.fromkeys(names))
    assert list(block.streams) == distinct
    assert [distinct[i] for i in block.stream_of] == names * 3


def test_a_value_keeps_its_text_whatever_stands_beside_it():
    rows = [f'{{"dataset":"d","stream":"s","v":{v}}}' for v in ("9007199254740993", "0.5", '"x"')]
    for chosen in (rows[:1], rows[:2], rows):
        texts = decode(*(r.encode() for r in chosen)).blocks[0].texts("v")
        assert list(texts) == ["9007199254740993", "0.5", "x"][: len(chosen)]


def test_the_text_12_and_the_numbers_12_and_12_0_are_one_key():
    rows = [f'{{"dataset":"d","stream":"s","v":{v}}}'.encode() for v in ('"12"', "12", "12.0")]
    for block in (*decode(*rows).blocks, *decode(rows[1]).blocks, *decode(rows[2]).blocks):
        keys, valid = block.keys("v")
        assert valid is None
        assert (keys == hash_key(12)).all()


def test_a_tuple_goes_to_the_shard_of_its_stream_and_data_set():
    rows = [f'{{"dataset":"{d}","stream":"{s}","v":1}}'.encode() for d in "ab" for s in range(50)]
    blocks = decode(*rows, shards=8).blocks
    assert len(blocks) > 8
    for block in blocks:
        for stream, hashed in zip(block.streams, block.stream_hashes, strict=True):
            assert hashed == hash_key(stream)[0, 0]
            assert block.shard == (hashed ^ hash_key(block.dataset)[0, 0]) % np.uint64(8)


@pytest.mark.parametrize(
    ("payload", "code", "field"),
    [
        (b"\xfe\xfe", "bad_encoding", None),
        (b'{"dataset":"\xff"}', "bad_encoding", None),
        (b'{"dataset":"d","stream":"\xed\xa0\x80","v":1}', "bad_encoding", None),
        (b"{", "bad_json", None),
        (b"[1]", "bad_json", None),
        (b"12", "bad_json", None),
        (b'{"dataset":"d","stream":"\\ud800","v":1}', "bad_json", None),
        (b'{"dataset":"d","stream":"s","v":NaN}', "bad_json", None),
        (b'{"v":' + b"[" * 5000 + b"]" * 5000 + b"}", "bad_json", None),
        (b'{"stream":"s","v":1}', "bad_tuple", "dataset"),
        (b'{"dataset":null,"stream":"s","v":1}', "bad_tuple", "dataset"),
        (b'{"dataset":7,"stream":"s","v":1}', "bad_tuple", "dataset"),
        (b'{"dataset":"d","v":1}', "bad_tuple", "stream"),
        (b'{"dataset":"d","stream":true,"v":1}', "bad_tuple", "stream"),
        (b'{"dataset":"d","stream":"","v":1}', "bad_tuple", "stream"),
        (b'{"dataset":"d","stream":"s"}', "bad_tuple", "values"),
        (b'{"dataset":"d","stream":"s","values":null}', "bad_tuple", "values"),
        (b'{"dataset":"d","stream":"s","values":"[1]"}', "bad_tuple", "values"),
        (b'{"dataset":"d","stream":"s","values":"{"}', "bad_tuple", "values"),
        (b'{"dataset":"d","stream":"s","time":"1","v":1}', "bad_tuple", "time"),
        (b'{"dataset":"d","stream":"s","time":true,"v":1}', "bad_tuple", "time"),
        (b'{"dataset":"d","stream":"s","time":1700000000123456,"v":1}', "bad_tuple", "time"),
        (b'{"dataset":"d","stream":"%s","v":1}' % (b"s" * 513), "too_large", "stream"),
        (b'{"dataset":"d","stream":"s","%s":1}' % (b"v" * 513), "too_large", "v" * 80),
        (b'{"dataset":"d","stream":"s","v":"%s"}' % (b"v" * (1 << 20)), "too_large", None),
        (b"x" * ((16 << 20) + 1), "too_large", None),
    ],
)
def test_a_refused_message_is_told_with_its_reason_and_the_others_go_on(payload, code, field):
    good = b'{"dataset":"d","stream":"s","v":1}'
    decoded = decode(good, payload, good)
    [letter] = decoded.letters
    assert (letter["code"], letter.get("field")) == (code, field)
    assert (letter["topic"], letter["partition"]) == ("data", 3)
    assert (letter["offset"], letter["line"]) == (1001, 0)
    assert list(naive.tuples_of(decoded.blocks)) == [(1000, 0), (1002, 0)]


def test_a_million_fields_are_refused():
    fields = ",".join(f'"f{i}":{i}' for i in range(1_000_000))
    payload = b'{"dataset":"d","stream":"s","values":{%s}}' % fields.encode()
    for limits in (LIMITS, Limits(max_tuple_bytes=1 << 25)):
        [letter] = decode(payload, limits=limits).letters
        assert letter["code"] == "too_large"


def test_empty_messages_and_blank_lines_carry_nothing():
    decoded = decode(b"", b" \r\n\t", b"\n\n", b"\xef\xbb\xbf")
    assert decoded.blocks == []
    assert decoded.letters == []


def test_lines_are_numbered_as_they_stand_in_the_message():
    row = b'{"dataset":"d","stream":"s","v":1}'
    decoded = decode(b"\n" + row + b"\r\n\r\nx\n" + row + b"\n")
    assert list(naive.tuples_of(decoded.blocks)) == [(1000, 1), (1000, 4)]
    assert naive.refused(decoded.letters) == {(1000, 3): "bad_json"}


def test_one_object_may_be_written_over_several_lines():
    row = json.dumps({"dataset": "d", "stream": "s", "values": {"v": 1}}, indent=2).encode()
    decoded = decode(row, row)
    assert len(naive.tuples_of(decoded.blocks)) == 2
    assert decoded.letters == []


def test_the_infore_form_is_understood_with_values_as_object_or_text():
    values = '{"time":"02/19/2019 06:07:14","StockID":"EURUSD","price":"110.11"}'
    for written_values in (values, json.dumps(values)):
        row = f'{{"dataSetkey":"Forex","streamID":"EURUSD","values":{written_values}}}'
        [block] = decode(row.encode()).blocks
        assert (block.dataset, list(block.streams)) == ("Forex", ["EURUSD"])
        assert block.numbers("price").tolist() == [110.11]
        assert list(block.texts("time")) == ["02/19/2019 06:07:14"]
        assert block.times.tolist() == [naive.TIMESTAMP + 1000]


def test_truth_values_are_texts_that_count_as_one_and_zero():
    rows = [b'{"dataset":"d","stream":"s","v":%s}' % v for v in (b"true", b"false", b'"true"')]
    [block] = decode(*rows).blocks
    assert list(block.texts("v")) == ["true", "false", "true"]
    assert block.numbers("v").tolist() == [1, 0, 1]


def test_many_bad_lines_of_one_message_do_not_become_as_many_letters():
    decoded = decode(b"\n".join([b"x"] * 50), b"x", limits=Limits(max_letters=10))
    assert len(decoded.letters) == 12
    assert "40 more lines" in decoded.letters[10]["message"]
    assert decoded.letters[11]["offset"] == 1001


@pytest.mark.parametrize("escape", [False, True])
def test_tuples_with_ever_new_names_are_cut_into_more_blocks_and_none_is_lost(escape):
    name = "\\u0066" if escape else "f"
    fields = [",".join(f'"{name}{i * 3 + j}":{j}' for j in range(3)) for i in range(40)]
    rows = [f'{{"dataset":"d","stream":"s","values":{{{some}}}}}' for some in fields]
    limits = Limits(max_fields=10)
    payload = "\n".join(rows).encode()
    decoded = assert_equals_the_naive_way([payload], limits)
    assert len(decoded.blocks) > 5
    assert max(len(block.fields) for block in decoded.blocks) <= 13
    assert decoded.blocks == sorted(decoded.blocks, key=lambda block: block.order)


def test_offsets_far_apart_are_kept_exactly():
    messages = naive.messages([b'{"dataset":"d","stream":"s","v":1}'] * 4)
    messages.offsets[2:] += 1 << 33
    blocks = decode_tuples(messages, 1, LIMITS).blocks
    assert [block.base + o for block in blocks for o in block.offsets.tolist()] == [
        *messages.offsets.tolist()
    ]


def test_what_machines_and_people_write_is_never_read_row_by_row(monkeypatch):
    monkeypatch.setattr("sde.decoding.segments.read_tuple", None)
    monkeypatch.setattr("sde.decoding.rows.orjson", None)
    rows = [
        b'{"dataset":"Forex","stream":"S1","time":1700000000123,"values":{"id":"S1","p":110.11}}',
        b'{"dataset": "Forex", "stream": "S1", "p": -1.5e-3, "on": true, "off": null}',
        b'{"dataSetkey":"Forex","streamID":"\xc3\xa9","values":{"time":"06:07","p":"110.11"}}',
        b'{"dataset":"Forex","stream":"S1","extra":1,"values":{"p":0.8444218515250481},"more":2}',
        b'{"dataset":"Forex","stream":"S1","values":{}}',
        b'{"dataset":"Forex","stream":"Z\\u00fcrich","values":{"a\\nb":"\\ud83d\\ude00 \\"x\\""}}',
        b'{"values":{"p":1,"at":{"venue":[1,{"x":"\\n"}],"none":[]}},"stream":7,"dataset":"Forex"}',
        b'{"dataset":"Forex","time":1700000000123.5,"stream":-7.25,"p":true,"q":{},"r":null}',
    ]
    alone = [*rows, b'{\n"dataset": "Forex",\n"stream": "S1",\n"values": {\n"p": [\n1]}\n}\n']
    assert_equals_the_naive_way([*alone, b"\n".join(rows)])


def test_nothing_is_read_beyond_the_end_of_the_last_message():
    for end in range(1, 40):
        row = b'{"dataset":"d","stream":"s","values":{"price":1.25,"a":"b"}}'[:end]
        messages = naive.messages([row])
        buffer = messages.buffer[:end].copy()
        exact = type(messages)(**{**messages.__dict__, "buffer": buffer})
        assert len(decode_tuples(exact, 1, LIMITS).letters) == 1


@given(written(GOOD), st.lists(damaged(written(GOOD)), max_size=4), st.data())
def test_rows_of_one_shape_are_read_as_any_others(row, others, data):
    """A shape is learnt from the first row; the others have it, nearly have it, or another one."""
    at = data.draw(st.integers(0, len(row) - 1))
    byte = data.draw(st.sampled_from(b'"\\,:{}[]0189-.eE tn\x00\x1f\x7f\xc3\xff'))
    nearly = row[:at] + bytes([byte]) + row[at + 1 :]
    longer = row[:at] + data.draw(st.sampled_from([b"1", b"00000000", b"a", b" "])) + row[at:]
    rows = [row, row, nearly, longer, row[:at], *others, row]
    assert_equals_the_naive_way([line.replace(b"\n", b" ") for line in rows])


@pytest.mark.parametrize("digits", [*range(1, 22)])
@pytest.mark.parametrize("sign", ["", "-"])
def test_whole_numbers_of_any_length_are_exact(digits, sign):
    numbers = [sign + ("1234567890" * 3)[:digits], sign + "9" * digits]
    before, behind = b'{"dataset":"d","stream":"s","values":{"v":', b"}}"
    rows = [before + number.encode() + behind for number in numbers]
    assert_equals_the_naive_way([*rows, *rows])
