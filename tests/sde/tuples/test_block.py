"""Blocks: the views of their fields, parts of them, and their bytes."""

from dataclasses import replace

import naive_decoding as naive
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sde.tuples.block import Block, completed, first_words
from sde.tuples.column import Coded, Column
from sde.tuples.decimals import text_numbers
from sde.tuples.needs import Needs, NeedsByDataset
from sde.tuples.times import NO_TIME
from synopses.errors import StateError
from synopses.hashing import hash_key
from synopses.texts import Texts


def block(rows=6, lines=True, **others):
    streams = Texts.of(["EURUSD", "é"])
    valid = np.arange(rows) % 3 != 1
    whole = Block(
        dataset="Forex",
        shard=2,
        topic="data",
        partition=1,
        base=2**40,
        streams=streams,
        stream_hashes=first_words(streams),
        stream_of=(np.arange(rows) % 2).astype(np.int32),
        times=np.arange(rows) * 1000 + 1_700_000_000_000,
        offsets=np.arange(rows, dtype=np.uint32) // (2 if lines else 1),
        lines=np.arange(rows, dtype=np.uint32) % 2 if lines else None,
        fields={
            "price": Column(np.arange(rows) / 4),
            "volume": Column(np.arange(rows) * 10**17, valid),
            "id": Column(Texts.of([f"é{i}" if valid[i] else "" for i in range(rows)]), valid),
        },
    )
    return replace(whole, **others)


def assert_equal(one, other):
    assert (one.dataset, one.shard, one.order) == (other.dataset, other.shard, other.order)
    assert naive.tuples_of([one]) == naive.tuples_of([other])
    assert one.stream_hashes.tolist() == other.stream_hashes.tolist()
    assert one.ids().tolist() == other.ids().tolist()
    for name in one.fields:
        np.testing.assert_array_equal(one.numbers(name), other.numbers(name))


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize("rows", [0, 1, 6, 1000])
@pytest.mark.parametrize("lines", [False, True])
def test_a_block_survives_its_bytes(rows, lines, compress):
    before = block(rows, lines)
    after = Block.from_bytes(before.to_bytes(compress))
    assert_equal(before, after)
    assert after.to_bytes(compress) == before.to_bytes(compress)


@pytest.mark.parametrize("compress", [False, True])
def test_a_block_that_removes_says_so_in_its_bytes_and_in_parts_of_it(compress):
    before = block(removes=True, times=np.full(6, NO_TIME))
    after = Block.from_bytes(before.to_bytes(compress))
    assert_equal(before, after)
    needs = Needs(frozenset({"price"}), times=True)
    for one in (after, after.take(np.array([1])), after.select(needs)):
        assert (one.removes, set(one.times.tolist())) == (True, {NO_TIME})


def test_the_bytes_of_a_block_that_adds_are_those_of_versions_that_knew_no_other():
    assert b"removes" not in block().to_bytes()
    assert not Block.from_bytes(block().to_bytes()).removes


def test_blocks_that_remove_come_after_those_that_add_whatever_stood_first():
    blocks = [block(removes=True, topic="a"), block(topic="b"), block(topic="a", line=1)]
    ordered = completed(blocks, NeedsByDataset({}))
    assert [(b.topic, b.removes) for b in ordered] == [("a", False), ("b", False), ("a", True)]


def test_integers_of_any_size_survive_their_bytes():
    for numbers in ([-(2**63), 2**63 - 1], [2**63 - 1] * 2, [-1, 254], [-1, 255], [0, 2**32]):
        column = Column(np.array(numbers))
        before = block(2).select(Needs(times=True, ids=True))
        before.fields["n"] = column
        after = Block.from_bytes(before.to_bytes())
        assert after.fields["n"].data.tolist() == numbers


def test_codes_of_texts_that_are_not_there_are_refused():
    texts = Texts.of(["a", "b"])
    for codes in ([0, 1, 2], [0, -1, 1]):
        wrong = block(3).select(Needs(times=True, ids=True))
        wrong.fields["k"] = Column(Coded(texts, np.array(codes, np.int32)))
        with pytest.raises(StateError, match="a text beyond the 2"):
            Block.from_bytes(wrong.to_bytes())


@given(st.data(), st.booleans())
def test_damaged_bytes_are_refused(data, compress):
    good = block().to_bytes(compress)
    bad = bytearray(good)
    at = data.draw(st.integers(0, len(bad) - 1))
    change = data.draw(st.sampled_from(["flip", "cut", "extend"]))
    if change == "flip":
        bad[at] ^= 1 << data.draw(st.integers(0, 7))
    elif change == "cut":
        del bad[at:]
    else:
        bad += b"\0"
    with pytest.raises(StateError):
        Block.from_bytes(bytes(bad))


def test_only_what_was_selected_is_kept():
    part = block().select(Needs(frozenset({"price", "nothing"})))
    after = Block.from_bytes(part.to_bytes())
    for selected in (part, after):
        assert len(selected) == 6
        assert list(selected.fields) == ["price"]
        assert len(selected.times) == len(selected.offsets) == len(selected.ids()) == 0
        assert selected.lines is None
        assert selected.numbers("price").tolist() == block().numbers("price").tolist()


def test_keys_are_the_hashes_of_texts_and_say_which_rows_have_them():
    keys, valid = block().keys("volume")
    assert valid.tolist() == [True, False, True, True, False, True]
    assert (keys[2] == hash_key(2 * 10**17)[0]).all()
    assert block().keys("price")[1] is None


def test_views_are_computed_once():
    one = block()
    assert one.keys("id")[0] is one.keys("id")[0]
    assert one.numbers("price") is one.numbers("price")
    assert one.texts("price") is one.texts("price")
    assert one.ids() is one.ids()


def test_a_field_that_is_not_there_is_missing_in_every_row():
    keys, valid = block().keys("nothing")
    assert keys.shape == (6, 2)
    assert not valid.any()
    assert np.isnan(block().numbers("nothing")).all()
    assert len(block().texts("nothing")) == 6


def test_identities_differ_by_topic_partition_offset_and_line():
    one = block()
    others = [
        one,
        Block(**{**one.__dict__, "topic": "other", "_cache": {}}),
        Block(**{**one.__dict__, "partition": 2, "_cache": {}}),
        Block(**{**one.__dict__, "base": 7, "_cache": {}}),
    ]
    ids = [int(i) for other in others for i in other.ids()]
    assert len(set(ids)) == len(ids) == 24


def test_identities_are_spread_evenly():
    ids = block(4096, lines=False).ids()
    counts = np.bincount((ids >> np.uint64(58)).astype(np.int64), minlength=64)
    assert len(set(ids.tolist())) == 4096
    assert counts.min() > 64 - 4 * 8
    assert counts.max() < 64 + 4 * 8


NUMBER_LIKE = st.text("0123456789.eE+- truefalsn", max_size=24)


@given(st.lists(st.one_of(NUMBER_LIKE, st.floats().map(repr), st.text(max_size=8)), max_size=10))
def test_a_text_counts_as_the_number_it_is_written_as(texts):
    expected = [naive.number(text) for text in texts]
    np.testing.assert_array_equal(text_numbers(Texts.of(texts)), expected)


@pytest.mark.parametrize("lines", [False, True])
@pytest.mark.parametrize("rows", [[], [1, 3], [1, 2, 4, 5]])
def test_rows_that_are_taken_are_a_block_of_their_own(rows, lines):
    whole, rows = block(lines=lines), np.array(rows, np.int64)
    taken = whole.take(rows)
    before, after = naive.tuples_of([whole]), naive.tuples_of([taken])
    assert [*after.items()] == [[*before.items()][row] for row in rows]
    assert taken.ids().tolist() == whole.ids()[rows].tolist()
    assert list(taken.streams) == list(dict.fromkeys(whole.streams[i % 2] for i in rows))
    assert np.array_equal(taken.stream_hashes, first_words(taken.streams))
    assert_equal(Block.from_bytes(taken.to_bytes()), taken)


def test_what_was_left_out_of_a_block_is_not_in_rows_that_are_taken_from_it():
    taken = block().select(Needs(frozenset({"price"}))).take(np.array([5]))
    assert (len(taken.times), len(taken.offsets), list(taken.fields)) == (0, 0, ["price"])
    assert taken.numbers("price").tolist() == [1.25]


def test_several_fields_make_a_key_where_all_of_them_are():
    hashes, valid = block().keys(("price", "id"))
    assert hashes[2].tolist() == hash_key([0.5, "é2"])[0].tolist()
    assert valid.tolist() == (np.arange(6) % 3 != 1).tolist()
    assert block().keys(("price", "price"))[1] is None
