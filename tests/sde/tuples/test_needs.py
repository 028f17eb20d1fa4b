"""What nobody reads is left out on the way, and nobody notices."""

import json

import naive_decoding as naive
import numpy as np
import pyarrow as pa
import pytest
from wire_messages import create, tuples

from sde.decoding import Limits, decode_tuples
from sde.testing import LocalEngine
from sde.tuples.block import UNREAD, Block, completed
from sde.tuples.needs import Needs, NeedsByDataset

WANTED = [
    NeedsByDataset({}),
    NeedsByDataset({"Forex": Needs(frozenset({"price"}))}),
    NeedsByDataset({"Forex": Needs(frozenset({"trader", "time", "nobody has it"}), times=True)}),
    NeedsByDataset(
        {"Forex": Needs(ids=True), "Weather": Needs(frozenset({"trader", "é"}), True, True)}
    ),
]


def rows():
    good = [
        {
            "dataset": ("Forex", "Weather")[i % 2],
            "stream": f"S{i % 5}",
            "time": 1_700_000_000_000 + i,
            "values": {"trader": f"T{i % 7}", "price": i / 4, "é": i, "time": "1/2"},
        }
        for i in range(40)
    ]
    odd = [{**good[0], "values": {"price": "1.5", "trader": 'a"b'}}, {**good[1], "values": {}}]
    bad = [b'{"dataset":"Forex","stream":"S1","values":{"price":1e}}', b"nothing", b'{"stream":1}']
    lines = [json.dumps(row, ensure_ascii=False).encode() for row in good + odd]
    return [*lines, *bad, b"\n".join(lines[:7] + bad)]


def frames():
    table = pa.table(
        {
            "stream": ["S1", "S2", None, "S3"],
            "trader": pa.array(["a", "b", "a", None]).dictionary_encode(),
            "price": [1.5, float("nan"), 2.0, 3.0],
            "day": pa.array([1, 2, 3, 4], pa.date32()),
        },
        metadata={"dataset": "Forex"},
    )
    found = []
    for one in (table, table.select(["stream", "price"]), table.append_column("l", [[[1]] * 4])):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, one.schema.with_metadata(table.schema.metadata)) as writer:
            writer.write_table(one)
        found.append(sink.getvalue().to_pybytes())
    return found


def content(blocks):
    """Everything blocks say, by place."""
    return sorted((b.order, b.dataset, b.shard, b.to_bytes()) for b in blocks)


@pytest.mark.parametrize("wanted", WANTED)
@pytest.mark.parametrize("payloads", [rows(), frames()], ids=["text", "frames"])
def test_what_is_kept_is_what_would_be_selected_of_everything(payloads, wanted):
    messages = naive.messages(payloads)
    whole, needed = (decode_tuples(messages, 3, Limits(), each) for each in (None, wanted))
    assert needed.letters == whole.letters
    read = [block for block in whole.blocks if wanted.get(block.dataset) is not None]
    selected = [block.select(wanted.of(block.dataset)) for block in read]
    # Frames that differ only in what was left out may share a block.
    if payloads == rows():
        assert content(b for b in needed.blocks if b.dataset != UNREAD) == content(selected)
        assert sum(map(len, needed.blocks)) == sum(map(len, whole.blocks))
    for name in ("price", "trader", "é"):
        assert texts_of(needed.blocks, name) == texts_of(selected, name)
    assert not any(block.lacks(wanted.of(block.dataset)) for block in needed.blocks)


def texts_of(blocks, name):
    ordered = sorted(blocks, key=lambda block: block.order)
    return [
        (block.dataset, block.shard, block.streams[stream], text)
        for block in ordered
        if name in block.fields
        for stream, text in zip(block.stream_of, block.texts(name), strict=True)
    ]


def test_more_names_than_the_scanner_tells_apart_are_all_kept():
    wanted = NeedsByDataset({"Forex": Needs(frozenset(f"f{i}" for i in range(20)))})
    needed = decode_tuples(naive.messages(rows()), 3, Limits(max_fields=10), wanted)
    assert {block.kept for block in needed.blocks} == {None}


def test_blocks_that_lack_something_are_read_again_with_all_that_came_beside_them():
    messages = naive.messages(rows())
    calls = []

    def again():
        calls.append(1)
        return decode_tuples(messages, 1, Limits()).blocks

    price = Needs(frozenset({"price"}))
    few = decode_tuples(messages, 1, Limits(), NeedsByDataset({"Forex": price})).blocks
    few = [Block(**{**b.__dict__, "read_again": again, "_cache": {}}) for b in few]
    assert content(completed(few, NeedsByDataset({"Forex": price}))) == content(few)
    assert not calls
    more = completed(few, NeedsByDataset({"Forex": Needs(frozenset({"price", "trader"}))}))
    assert content(more) == content(again())
    assert len(calls) == 2  # once for both data sets, and once here


def test_a_synopsis_created_with_the_data_sees_fields_that_nobody_read_before():
    engine = LocalEngine()
    data = tuples("d", [(f"s{i % 4}", {"k": i % 3, "v": i}) for i in range(30)])
    engine.run([create("u")], data)
    assert engine.wanted.of("d") == Needs(frozenset({"k"}))
    engine.run([create("w", kind="moments", key=None, value="v")], data)
    assert engine.ask(op="describe", uid="w")["value"]["tuples"] == 30
    assert engine.ask(op="estimate", uid="w", query={"type": "sum"})["value"] == sum(range(30))
    assert engine.wanted.of("d") == Needs(frozenset({"k", "v"}))
    engine.run([{"id": "d", "op": "delete", "uid": "u"}], data)
    assert engine.wanted.of("d") == Needs(frozenset({"v"}))
    assert engine.ask(op="estimate", uid="w", query={"type": "sum"})["value"] == 2 * sum(range(30))


def test_a_log_written_before_there_was_anything_to_leave_out_is_read():
    block = decode_tuples(naive.messages(rows()), 1, Limits()).blocks[0]
    assert Block.from_bytes(block.to_bytes()).kept is None
    assert np.array_equal(Block.from_bytes(block.to_bytes(True)).times, block.times)


def test_needs_survive_their_bytes_and_damage_is_told():
    for wanted in WANTED:
        assert NeedsByDataset.from_bytes(wanted.to_bytes()).to_bytes() == wanted.to_bytes()
    for bad in (b"", b"[]", b'{"a": 1}', b'{"a": {"fields": 3}}'):
        with pytest.raises(ValueError, match="not the needs"):
            NeedsByDataset.from_bytes(bad)
