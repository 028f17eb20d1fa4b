"""Streams of several shards, whole or cut to a window, are answered for alike."""

import numpy as np
import pytest
import walks

from synopses import DFT, LSH, Items, Streams, common_window
from synopses.common_window import CommonWindow, OtherWindow, is_cut

SHARDS = 3
KINDS = {
    "dft": DFT(interval=0.5, window=50, basic_window=5),
    "dft without ticks": DFT(interval=0.5, window=50, basic_window=5, keep_window=False),
    "lsh": LSH(interval=0.5, window=50, basic_window=5, bits=128),
}
ALL = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


@pytest.fixture(autouse=True)
def few_are_enough_to_guess(monkeypatch):
    monkeypatch.setattr(common_window, "FEW_STREAMS", 2)


def mixed(kind: CommonWindow) -> Streams:
    """Streams of all sorts: moving, constant, silent, young, ahead by a pane, and empty."""
    x = walks.values("opposites", 7, 48, 115)
    x[5] = 3.0
    bank = {n: np.zeros((48, *s), t) for n, (t, s) in kind.layout().items()}
    for slot in range(48):
        first, last = {9: (60, 108), 13: (0, 70), 14: (0, 12), 21: (0, 115)}.get(slot, (0, 108))
        if slot != 30:
            times = 1_700_000_000_000 + 500 * np.arange(first, last)
            items = Items.of(values=x[slot, first:last], times=times)
            kind.add_slots(bank, np.full(last - first, slot, np.int32), items)
    return Streams([f"s{i}" for i in range(48)], bank)


def apart(streams: Streams) -> list[Streams]:
    return [
        Streams(
            [streams.names[i] for i in range(shard, len(streams.names), SHARDS)],
            {n: a[shard::SHARDS] for n, a in streams.arrays.items()},
        )
        for shard in range(SHARDS)
    ]


def cut(kind: CommonWindow, part: Streams) -> Streams:
    return Streams(part.names, kind.cut_here(part.arrays))


def questions(kind: CommonWindow, streams: Streams) -> list[object]:
    pairs = [(f"s{i}", f"s{j}") for i, j in ((1, 2), (5, 6), (9, 1), (13, 2), (21, 3), (30, 4))]
    answers = [kind.correlation(streams, *pair) for pair in pairs]
    answers += [kind.pairs(streams, threshold=at) for at in (0.3, 0.9)]
    if isinstance(kind, LSH):
        answers += [kind.similar(streams, name) for name in ("s1", "s5", "s13", "s30")]
    return answers


@ALL
@pytest.mark.parametrize("is_whole", [(), (0,), (1, 2)])
def test_streams_cut_in_their_shards_are_answered_for_as_whole_ones(kind, is_whole):
    parts = apart(mixed(kind))
    expected = questions(kind, kind.join(parts))
    sent = [part if n in is_whole else cut(kind, part) for n, part in enumerate(parts)]
    assert [is_cut(part.arrays) for part in sent] == [n not in is_whole for n in range(SHARDS)]
    together = kind.join(sent)
    assert is_cut(together.arrays)
    assert questions(kind, together) == expected
    details = expected[-1].details
    assert details["without_full_window"] == 2
    assert details["constant"] >= 1


@ALL
def test_a_cut_is_smaller(kind):
    streams = mixed(kind)
    needed = {n: streams.arrays[n] for n in kind.across_arrays if n in streams.arrays}
    size, of_cut = (
        sum(a.nbytes for a in arrays.values()) for arrays in (needed, kind.cut_here(needed))
    )
    assert of_cut < (0.75 if "ticks" in needed else 0.3) * size


@ALL
def test_a_cut_to_another_window_is_refused_and_says_which_one_all_have(kind):
    parts = apart(mixed(kind))
    parts[1] = walks.bank_of(kind, walks.values("factors", 3, 16, 125), 1_700_000_000_000)
    end = kind.join(parts)
    expected = kind.pairs(end).details["window"]["end"]
    with pytest.raises(OtherWindow) as raised:
        kind.join([cut(kind, part) for part in parts])
    assert raised.value.moment == expected
    joined = kind.join([parts[0], cut(kind, parts[1]), parts[2]])
    assert questions(kind, joined) == questions(kind, end)


def test_streams_stay_whole_where_a_guess_is_bad(monkeypatch):
    kind = KINDS["dft"]
    streams = mixed(kind)
    behind = {**streams.arrays, "pane": streams.arrays["pane"] - np.arange(48)}
    assert not is_cut(kind.cut_here(behind))
    nobody = {n: a[:0] for n, a in streams.arrays.items()}
    assert not is_cut(kind.cut_here(nobody))
    monkeypatch.setattr(common_window, "FEW_STREAMS", 49)
    assert not is_cut(kind.cut_here(streams.arrays))


def test_streams_that_may_be_asked_for_with_a_lag_stay_whole():
    kind = DFT(interval=0.5, window=50, basic_window=5, max_lag=10)
    parts = apart(walks.bank_of(kind, walks.values("factors", 1, 30, 141)))
    assert not any(is_cut(cut(kind, part).arrays) for part in parts)
    together = kind.join([cut(kind, part) for part in parts])
    assert kind.pairs(together, 0.5, lag=10.0) == kind.pairs(kind.join(parts), 0.5, lag=10.0)
