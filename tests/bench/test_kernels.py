import numpy as np
import pytest

from bench.kernels.columns import columns
from bench.kernels.numpy_ways import SAME_STATE, SAME_USE
from bench.kernels.peers import PEERS
from bench.kernels.race import WITH_GOALS, Ratio, Result, bank, one
from bench.kernels.report import cells, write
from synopses import KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_raced(kind):
    data = columns(300, slots=4)
    single, many = one(kind, data, rounds=1), bank(kind, data, slots=4, rounds=1)
    assert {"from hashes", "from texts"} <= set(single.speeds)
    assert ("per item" in single.ratios) == (kind in PEERS)
    assert ("numpy" in single.ratios) == (kind in SAME_STATE or kind in SAME_USE)
    assert ("numpy" in many.ratios) == (kind in SAME_STATE)
    assert many.setting == "bank"


@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize("kind", SAME_STATE)
def test_the_numpy_way_fills_the_same_state(kind, slots):
    template, data = KINDS[kind](), columns(2_000, slots)
    items = data.items(KINDS[kind], one=False)
    ours, theirs = (
        {n: np.zeros((slots, *shape), t) for n, (t, shape) in template.layout().items()}
        for _ in range(2)
    )
    template.add_slots(ours, data.slots, items)
    SAME_STATE[kind](template, theirs, None if slots == 1 else data.slots, items)
    for name, array in ours.items():
        np.testing.assert_array_equal(array, theirs[name])


def test_a_ratio_below_its_goal_is_missed():
    ratios = {"per item": Ratio(4.9, 4, 5), "numpy": Ratio(1.1, 1, 2)}
    speeds = {"from hashes": 1e6, "from texts": 1e6, "per item": 1e6, "numpy": 1e6}
    result = Result("count_min", "one", "count_min_sketch", speeds, ratios)
    assert result.missed() == ["per item"]
    assert any("MISSED" in cell for cell in cells(result))
    assert set(WITH_GOALS) <= set(PEERS)


def test_results_are_written(tmp_path):
    write([one("fm", columns(300, slots=4), rounds=1)], tmp_path)
    assert "| fm | one |" in (tmp_path / "kernels.md").read_text()
    assert (tmp_path / "kernels.json").exists()
