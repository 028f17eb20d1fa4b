from hypothesis import given
from hypothesis import strategies as st

from service.kafka.offsets import admit, from_json, to_json

offsets = st.integers(0, 10**9)
partitions = st.dictionaries(
    st.tuples(st.sampled_from(["a", "b"]), st.integers(0, 20)), st.tuples(offsets, offsets)
)


def test_json_has_one_order_and_numbers_are_sorted_as_numbers():
    text = to_json({("t", 10): 1, ("t", 9): 2, ("a", 0): 3})
    assert list(text) == ["a", "t"]
    assert list(text["t"]) == ["9", "10"]


@given(partitions)
def test_json_brings_offsets_back(logs):
    known = {key: start for key, (start, _) in logs.items()}
    assert from_json(to_json(known)) == known


@given(partitions, st.integers(1, 10**10))
def test_admission_is_bounded_moves_every_waiting_partition_and_never_goes_beyond_the_ends(
    logs, budget
):
    start = {key: first for key, (first, _) in logs.items()}
    ends = {key: first + more for key, (first, more) in logs.items()}
    reached = admit(start, ends, budget)
    moved = {key: reached[key] - start[key] for key in reached}
    assert all(0 <= moved[key] <= ends[key] - start[key] for key in moved)
    assert all(moved[key] > 0 for key in moved if ends[key] > start[key])
    assert sum(moved.values()) <= budget + len(logs)
    waiting = sum(ends.values()) - sum(start.values())
    assert sum(moved.values()) >= min(budget, waiting) - len(logs)


def test_without_a_budget_everything_is_admitted():
    assert admit({("t", 0): 5}, {("t", 0): 10**9}, None) == {("t", 0): 10**9}


def test_a_partition_without_a_known_end_stays_where_it_is():
    assert admit({("t", 0): 5, ("gone", 0): 7}, {("t", 0): 6}, 10) == {("t", 0): 6, ("gone", 0): 7}
