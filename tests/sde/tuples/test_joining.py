"""Blocks that follow each other in a log, as one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sde.decoding import Limits, decode_tuples
from sde.testing import LocalEngine
from sde.testing.messages import messages
from sde.tuples.block import Block
from sde.tuples.joining import joined
from sde.tuples.needs import Needs

VALUES = st.one_of(
    st.none(), st.integers(-5, 5), st.floats(-9, 9).map(lambda x: round(x, 2)), st.text(max_size=3)
)
TUPLES = st.fixed_dictionaries(
    {
        "dataset": st.sampled_from(["d", "e"]),
        "stream": st.sampled_from(["s", "t", "é"]),
        "values": st.dictionaries(st.sampled_from(["k", "v"]), VALUES),
    },
    optional={"time": st.integers(1, 2**40)},
)


def cut(batches):
    """The blocks of one shard, of each list of messages: they lie one behind the other."""
    blocks, first = [], 0
    for batch in batches:
        arrived = messages(batch)
        arrived = replace(arrived, offsets=arrived.offsets + first)
        first += len(batch)
        blocks += decode_tuples(arrived, 1, Limits()).blocks
    return blocks


def rows(block):
    """What a layer can see of each tuple."""
    columns = {
        name: (list(block.texts(name)), block.numbers(name), block.column(name).valid)
        for name in block.fields
    }
    return [
        (
            block.streams[block.stream_of[i]],
            block.stream_hashes[block.stream_of[i]],
            block.times[i],
            block.ids()[i],
            {
                name: (texts[i], str(numbers[i]))
                for name, (texts, numbers, valid) in columns.items()
                if valid is None or valid[i]
            },
        )
        for i in range(len(block))
    ]


@given(st.lists(st.lists(TUPLES, min_size=1, max_size=6), max_size=6))
def test_joined_blocks_hold_the_same_tuples_in_the_same_order(batches):
    blocks = cut(batches)
    together = joined(blocks)
    for dataset in ("d", "e"):
        before = [row for b in blocks if b.dataset == dataset for row in rows(b)]
        after = [row for b in together if b.dataset == dataset for row in rows(b)]
        assert after == before
    for block in together:
        assert len(set(block.streams)) == len(block.streams)
        assert rows(Block.from_bytes(bytearray(block.to_bytes()))) == rows(block)


def of(*keys, **fields):
    (block,) = cut([[{"dataset": "d", "stream": f"s{k}", "values": {"k": k}} for k in keys]])
    return replace(block, **fields)


def test_blocks_of_one_log_and_form_become_one():
    (one,) = joined([of("a", "b"), of("b", "c", base=7), of("a", base=9)])
    assert list(one.streams) == ["sa", "sb", "sc"]
    assert one.stream_of.tolist() == [0, 1, 1, 2, 0]
    assert list(one.texts("k")) == ["a", "b", "b", "c", "a"]
    assert one.offsets.tolist() == [0, 1, 7, 8, 9]


@pytest.mark.parametrize(
    "other",
    [
        of("b", partition=1, base=7),
        of("b", topic="u", base=7),
        of("b", dataset="e", base=7),
        of("b", removes=True, base=7),
        of(1, base=7),  # numbers are not kept as texts are
        of("b", base=1 << 32),  # too far for the offsets of a block
        of("b", base=7).select(Needs(frozenset({"k"}), times=False, ids=False)),
    ],
)
def test_others_stay_as_they_are(other):
    first = of("a")
    assert joined([first, other]) == [first, other]


def test_what_is_needed_of_no_block_is_in_none():
    needs = Needs(frozenset(), times=False, ids=False)
    (one,) = joined([of("a").select(needs), of("b", base=5).select(needs)])
    assert (len(one), len(one.times), len(one.offsets), one.fields) == (2, 0, 0, {})
    assert np.array_equal(one.stream_of, [0, 1])


def test_a_batch_of_many_messages_leaves_the_state_of_its_tuples_one_by_one():
    many, single = LocalEngine(1), LocalEngine(1)
    tuples = [
        {"dataset": "d", "stream": f"s{i % 5}", "values": {"k": f"k{i % 7}", "v": i / 3}}
        for i in range(200)
    ]
    for engine in (many, single):
        for kind in ("count_min", "lossy_counting", "sample", "quantiles"):
            fields = {"key": "k"} if kind != "quantiles" else {"value": "v"}
            create = {"uid": kind, "dataset": "d", "kind": kind, **fields}
            assert engine.ask(op="create", id=kind, **create)["status"] == "ok"
    many.replies(data=tuples)
    for one in tuples:
        single.replies(data=[one])
    for kind in ("count_min", "lossy_counting", "sample", "quantiles"):
        asked = {"op": "export", "id": f"e-{kind}", "uid": kind}
        assert many.ask(**asked)["value"] == single.ask(**asked)["value"]
