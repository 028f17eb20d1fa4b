import naive_window as naive
import numpy as np
import pytest

from synopses import DFT, LSH, Items, ParameterError, StateError

BOTH = pytest.mark.parametrize("cls", [DFT, LSH])


def rough_stream(seed, n=400):
    """Ticks out of order, missing, repeated, late, and gaps of several windows."""
    rng = np.random.default_rng(seed)
    times = np.arange(n) * 900 + rng.integers(0, 4_000, n)
    times[rng.integers(0, n, 5)] -= 30_000
    times += np.repeat(np.cumsum(rng.integers(0, 2, 8) * rng.integers(5_000, 200_000, 8)), n // 8)
    return 1_700_000_000_000 + times, 50 + rng.normal(size=n).cumsum()


@BOTH
@pytest.mark.parametrize("seed", range(10))
def test_panes_equal_the_naive_ones_to_the_bit(cls, seed):
    times, values = rough_stream(seed)
    synopsis = cls.example()
    twin = naive.NaiveWindow(synopsis)
    for part in np.array_split(np.arange(len(times)), 7):
        synopsis.add(Items.of(values=values[part], times=times[part]))
        twin.add(times[part], values[part])
    arrays = {name: array[0] for name, array in synopsis.arrays.items()}
    assert arrays["pane"] == twin.newest
    assert arrays["counts"].tolist() == [len(times) - twin.late, twin.late]
    assert arrays["start"] == twin.start
    checked = range(max(twin.newest - synopsis.ring + 1, twin.start), twin.newest + 1)
    for pane in checked:
        place = pane % synopsis.ring
        mean, energy, products = twin.fold(pane)
        assert arrays["mean"][place] == mean
        assert arrays["energy"][place] == energy
        assert arrays["product"][place].tolist() == products
        if cls is DFT:
            scale, whole, lost = twin.shrunk(pane)
            assert arrays["scale"][place] == scale
            assert arrays["ticks"][place].tolist() == whole
            assert arrays["lost"][place] == lost
    assert len(checked) > 3


@BOTH
def test_order_does_not_matter_up_to_one_basic_window(cls):
    times = 1_000 * np.arange(100)
    values = np.random.default_rng(1).normal(size=100)
    straight, shuffled = cls.example(), cls.example()
    straight.add(Items.of(values=values, times=times))
    # As from two partitions that are read one after the other.
    for first in range(0, 100, 10):
        part = np.arange(first, first + 10)
        order = np.concatenate([part[::2], part[1::2]])
        shuffled.add(Items.of(values=values[order], times=times[order]))
    assert shuffled.to_bytes() == straight.to_bytes()


@BOTH
def test_items_later_than_that_are_counted_and_left_out(cls):
    synopsis = cls.example()
    synopsis.add(Items.of(values=[1.0, 2.0], times=[0, 25_000]))
    before = synopsis.arrays["mean"].copy()
    synopsis.add(Items.of(values=[9.0, 9.0], times=[9_999, 2**62]))
    assert synopsis.arrays["counts"][0].tolist() == [2, 2]
    np.testing.assert_array_equal(synopsis.arrays["mean"], before)


@BOTH
def test_the_latest_value_of_a_tick_counts(cls):
    one, two = cls.example(), cls.example()
    one.add(Items.of(values=[1.0, 2.0, 3.0], times=[100, 900, 500]))
    two.add(Items.of(values=[2.0], times=[900]))
    np.testing.assert_array_equal(one.arrays["mean"], two.arrays["mean"])


@BOTH
def test_a_time_far_ahead_costs_no_more_than_a_window(cls):
    synopsis = cls.example()
    synopsis.add(Items.of(values=[1.0, 2.0], times=[-(2**60), 2**60]))
    assert synopsis.arrays["counts"][0].tolist() == [2, 0]


@BOTH
@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("interval", {"interval": 0.0015}),
        ("basic_window", {"interval": 2, "basic_window": 5}),
        ("window", {"window": 100, "basic_window": 30}),
        ("window", {"interval": 0.001, "basic_window": 50, "window": 50_000_000}),
        ("basic_window", {"interval": 0.001, "basic_window": 200, "window": 400}),
    ],
)
def test_windows_that_do_not_fit_are_refused(cls, name, params):
    with pytest.raises(ParameterError, match=f"^{name}="):
        cls(**params)


@BOTH
@pytest.mark.parametrize(
    ("name", "value"),
    [("pane", 2**62), ("counts", -1), ("stamp", 5_000), ("mean", np.nan), ("energy", -1.0)],
)
def test_impossible_states_are_refused(cls, name, value):
    synopsis = cls.example()
    synopsis.arrays[name][...] = value
    with pytest.raises(StateError):
        cls.from_bytes(synopsis.to_bytes())
