import naive_window as naive
import numpy as np
import pytest
import walks

from synopses import DFT, Items, ParameterError, QueryError, Streams

SEEDS = 40  # of each of the five inputs: 200 of the kind
KEEP = pytest.mark.parametrize("keep_window", [True, False])


def dft_of(**params):
    return DFT(**{"interval": 0.5, "window": 50, "basic_window": 5, **params})


def found_pairs(answer):
    return {(int(a[1:]), int(b[1:])): tuple(known) for a, b, *known in answer.value}


@KEEP
@pytest.mark.parametrize("name", walks.NAMES)
def test_no_pair_is_dismissed_and_bounds_always_hold(keep_window, name):
    dft = dft_of(keep_window=keep_window)
    for seed in range(SEEDS):
        threshold = (0.3, 0.8, 0.9, 0.99)[seed % 4]
        x = walks.values(name, seed, 40, 107)
        exact = walks.correlations(x[:, :100])
        found = found_pairs(dft.pairs(walks.bank_of(dft, x), threshold=threshold))
        for i, j in zip(*np.triu_indices(40, 1), strict=True):
            if abs(exact[i, j]) >= threshold:
                assert (i, j) in found
        for (i, j), (value, lower, upper) in found.items():
            assert lower <= exact[i, j] <= upper
            assert lower <= value <= upper
            assert upper >= threshold or lower <= -threshold


@pytest.mark.parametrize("name", ["random walks", "factors", "opposites"])
def test_kept_windows_give_pairs_that_are_right(name):
    dft = dft_of(keep_window=True)
    for seed in range(20):
        x = walks.values(name, seed, 60, 100)
        exact = walks.correlations(x)
        streams = walks.bank_of(dft, np.column_stack([x, x[:, -1]]))
        for (i, j), (value, lower, upper) in found_pairs(dft.pairs(streams)).items():
            assert abs(value - exact[i, j]) < 0.003
            assert upper - lower < 0.05
            assert abs(exact[i, j]) > 0.88


@KEEP
def test_the_correlation_of_a_named_pair_lies_within_its_bounds(keep_window):
    dft = dft_of(keep_window=keep_window)
    x = walks.values("factors", 3, 12, 101)
    exact = walks.correlations(x[:, :100])
    streams = walks.bank_of(dft, x)
    for i in range(12):
        answer = dft.correlation(streams, f"s{i}", f"s{(i + 5) % 12}")
        assert answer.lower <= exact[i, (i + 5) % 12] <= answer.upper
        assert answer.lower <= answer.value <= answer.upper
    with pytest.raises(QueryError, match=r"query\.b='nobody'"):
        dft.correlation(streams, "s1", "nobody")


@KEEP
def test_lagged_pairs_are_those_of_shifted_windows(keep_window):
    dft = dft_of(keep_window=keep_window, max_lag=15)
    x = walks.values("random walks", 5, 20, 131)
    x[7, 20:] = -x[3, :-20]  # 7 follows 3 by 20 ticks = 10 s
    streams = walks.bank_of(dft, x)
    now, earlier = x[:, 30:130], x[:, 10:110]
    exact = walks.correlations(np.concatenate([now, earlier]))[:20, 20:]
    found = found_pairs(dft.pairs(streams, threshold=0.8, lag=10.0))
    assert found[7, 3][1] < -0.99
    for i in range(20):
        for j in range(20):
            if i != j and abs(exact[i, j]) >= 0.8:
                assert found[i, j][1] <= exact[i, j] <= found[i, j][2]
    assert all(i != j for i, j in found)
    one = dft.correlation(streams, "s7", "s3", lag=10.0)
    assert one.lower <= exact[7, 3] <= one.upper
    for lag in (7.0, 20.0, -5.0):
        with pytest.raises(QueryError, match=r"query\.lag"):
            dft.pairs(streams, lag=lag)


@pytest.mark.parametrize("start", [0, 1_700_000_000_000, -5_000_000])
def test_the_spectrum_is_that_of_numpy(start):
    dft = dft_of(coefficients=6)
    x = walks.values("random walks", 1, 1, 119)
    streams = walks.bank_of(dft, x, start)
    answer = dft.at(streams.arrays, 0).spectrum()
    window = x[0, 10:110]
    normal = (window - window.mean()) / (window.std() * 10)
    expected = np.fft.fft(normal)[1:7] / 10
    np.testing.assert_allclose(np.array(answer.value) @ [1, 1j], expected, atol=1e-9)
    assert answer.details["window"] == {"start": start + 5_000, "end": start + 55_000}


def test_missing_and_late_ticks_correlate_as_the_carried_values_do():
    dft, rng = dft_of(), np.random.default_rng(8)
    x = walks.values("factors", 8, 10, 160)
    bank = {n: np.zeros((10, *s), t) for n, (t, s) in dft.layout().items()}
    twins = [naive.NaiveWindow(dft) for _ in range(10)]
    for slot in range(10):
        # Every third tick is missing; stream 0 falls silent; order is off by a few ticks.
        ticks = np.flatnonzero(rng.random(160) > 0.33)
        ticks = ticks[: 60 if slot == 0 else None]
        ticks = ticks[np.argsort(ticks + rng.uniform(0, 8, len(ticks)))]
        dft.add_slots(
            bank,
            np.full(len(ticks), slot, np.int32),
            Items.of(values=x[slot, ticks], times=500 * ticks),
        )
        twins[slot].add(500 * ticks, x[slot, ticks])
    streams = Streams([f"s{i}" for i in range(10)], bank)
    answer = dft.pairs(streams, threshold=0.5)
    end = max(twin.newest for twin in twins) - 1
    exact = walks.correlations(np.stack([twin.window(end) for twin in twins]))
    found = found_pairs(answer)
    assert answer.details["streams"] == 10
    for i, j in zip(*np.triu_indices(10, 1), strict=True):
        if abs(exact[i, j]) >= 0.5:
            assert found[i, j][1] <= exact[i, j] <= found[i, j][2]


def test_streams_that_do_not_move_or_have_no_full_window_take_no_part():
    dft = dft_of()
    streams = walks.bank_of(dft, walks.values("constants", 1, 9, 105))
    young = walks.bank_of(dft, walks.values("factors", 1, 2, 40), start=32_500)
    arrays = {n: np.concatenate([a, young.arrays[n]]) for n, a in streams.arrays.items()}
    both = Streams([*streams.names, "young", "younger"], arrays)
    answer = dft.pairs(both)
    assert answer.details["constant"] == 6
    assert answer.details["without_full_window"] == 2
    assert {int(name[1:]) % 3 for row in answer.value for name in row[:2]} <= {2}
    assert dft.correlation(both, "s0", "s2").value is None
    assert dft.correlation(both, "s2", "young").value is None
    assert DFT().spectrum().value is None


def test_a_clock_that_runs_ahead_moves_nobody_elses_window():
    dft = dft_of()
    x = walks.values("factors", 2, 12, 105)
    streams = walks.bank_of(dft, x)
    expected = dft.pairs(Streams(streams.names[1:], {n: a[1:] for n, a in streams.arrays.items()}))
    dft.at(streams.arrays, 0).add(Items.of(values=[1.0], times=[10**12]))
    answer = dft.pairs(streams)
    assert answer.details["ahead"] == 1
    assert answer.value == expected.value


def test_the_limit_keeps_the_strongest_and_counts_all():
    dft = dft_of()
    streams = walks.bank_of(dft, walks.values("opposites", 4, 30, 105))
    everything, few = dft.pairs(streams, threshold=0.5), dft.pairs(streams, 0.5, limit=7)
    assert few.value == everything.value[:7]
    assert few.details["found"] == len(everything.value)
    strengths = [abs(row[2]) for row in everything.value]
    assert strengths == sorted(strengths, reverse=True)
    positive = dft.pairs(streams, threshold=0.5, negative=False)
    assert all(row[4] >= 0.5 for row in positive.value)


def test_only_the_named_arrays_are_needed_across_streams():
    dft = dft_of()
    streams = walks.bank_of(dft, walks.values("factors", 6, 10, 105))
    needed = Streams(streams.names, {n: streams.arrays[n] for n in DFT.across_arrays})
    assert dft.pairs(needed) == dft.pairs(streams)
    assert dft.correlation(needed, "s1", "s2") == dft.correlation(streams, "s1", "s2")


def test_values_beyond_all_measure_are_cut():
    dft = DFT.example()
    dft.add(Items.of(values=np.tile([1e308, -1e308], 40), times=1_000 * np.arange(80)))
    assert np.isfinite(dft.spectrum().value).all()


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("coefficients", {"coefficients": 50}),
        ("max_lag", {"max_lag": 7}),
        ("window", {"max_lag": 1e9}),
    ],
)
def test_parameters_that_do_not_fit_are_refused(name, params):
    with pytest.raises(ParameterError, match=f"^{name}="):
        dft_of(**params)


@pytest.mark.parametrize("query", [{"threshold": 0.0}, {"threshold": 1.5}, {"limit": 0}])
def test_arguments_out_of_range_are_named(query):
    dft = DFT.example()
    streams = walks.bank_of(dft, walks.values("factors", 1, 3, 60))
    with pytest.raises(QueryError, match=next(iter(query))):
        dft.pairs(streams, **query)
