"""Cells: the pairs of stream and pane of a block, in memory that follows its tuples."""

import tracemalloc

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from wire_messages import create

from sde.banks.cells import cells_of
from sde.kernels.panes import NO_PANE
from sde.testing import LocalEngine

T0 = 1_700_000_000_000


@given(
    st.lists(
        st.tuples(
            st.integers(0, 5),
            st.sampled_from([NO_PANE, -(10**15), -1, 0, 1, 2, 77, 10**5, 10**15]),
        ),
        max_size=30,
    )
)
def test_the_cells_of_a_block_are_the_pairs_that_occur_and_no_others(rows):
    panes = np.array([pane for _, pane in rows], np.int64)
    stream_of = np.array([stream for stream, _ in rows], np.int32)
    found = cells_of(panes, stream_of, 6)
    pairs = list(zip(found.streams.tolist(), found.panes.tolist(), strict=True))
    assert pairs == sorted({row for row in rows if row[1] != NO_PANE})
    for row, cell in zip(rows, found.groups.of_tuple.tolist(), strict=True):
        assert cell == (-1 if row[1] == NO_PANE else pairs.index(row))


def test_tuples_of_many_streams_and_panes_take_memory_for_what_occurs_only():
    """10,000 tuples, each of another stream and another second: not 10,000 times 10,000 places."""
    engine = LocalEngine(shards=1)
    fields = {"value": "v", "scope": "stream", "window": {"size": "1s"}}
    engine.run([create("w", "moments", key=None, **fields)])
    rows = [
        {"dataset": "d", "stream": f"s{n}", "time": T0 - 1000 * n, "values": {"v": 1}}
        for n in range(10_000)
    ]
    engine.run(data=rows[:1])
    engine.union.clear()  # the watermark would take the panes away
    tracemalloc.start()
    engine.run(data=rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 64 << 20
    engine.union.clear()
    described = engine.ask(op="describe", uid="w")["value"]
    assert (described["tuples"], described["panes"]) == (10_001, 10_000)
