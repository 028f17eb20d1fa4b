import inputs
import naive_window as naive
import numpy as np
import pytest
import walks
from scipy import stats

from synopses import LSH, Items, ParameterError, QueryError, Streams
from synopses.hamming import CONFIDENCE, correlation_of, most_differing


def lsh_of(**params):
    return LSH(**{"interval": 0.5, "window": 20, "basic_window": 5, "bits": 128, **params})


def bits_of(answer, bits):
    return np.unpackbits(np.frombuffer(bytes.fromhex(answer.value), np.uint8))[:bits]


@pytest.mark.parametrize("name", ["random walks", "white noise"])
def test_the_bitmap_is_the_naive_one(name):
    lsh = lsh_of()
    x = walks.values(name, 1, 20, 57)
    streams = walks.bank_of(lsh, x)
    for slot in range(20):
        # The window that is over began at tick 10 = row 10 of P, and wraps around.
        expected = naive.bitmap(lsh, np.roll(x[slot, 10:50], 10))
        found = bits_of(lsh.at(streams.arrays, slot).signature(), 128)
        np.testing.assert_array_equal(found, expected)


def test_streams_that_are_behind_repeat_their_last_value():
    lsh = lsh_of()
    x = walks.values("random walks", 2, 6, 75)
    lengths = [75, 75, 62, 50, 43, 34]
    bank = {n: np.zeros((6, *s), t) for n, (t, s) in lsh.layout().items()}
    for slot, n in enumerate(lengths):
        items = Items.of(values=x[slot, :n], times=500 * np.arange(n))
        lsh.add_slots(bank, np.full(n, slot, np.int32), items)
    streams = Streams(list("abcdef"), bank)
    for slot, n in enumerate(lengths):
        x[slot, n:] = x[slot, n - 1]
    whole = walks.bank_of(lsh, x)
    expected = lsh.similar(Streams(list("abcdef"), whole.arrays), "a", k=5)
    assert lsh.similar(streams, "a", k=5).value == expected.value


def test_correlations_lie_within_their_bounds_with_the_stated_confidence():
    seeds, x = 200, np.empty((400, 41))
    walks_of_pairs = [walks.values("factors", seed, 2, 41) for seed in range(seeds)]
    weight = np.random.default_rng(5).uniform(-1, 1, seeds)
    for seed, pair in enumerate(walks_of_pairs):
        x[2 * seed] = pair[0]
        x[2 * seed + 1] = weight[seed] * pair[0] + (1 - abs(weight[seed])) * pair[1]
    exact = walks.correlations(x[:, :40])
    misses = 0
    for seed in range(seeds):
        lsh = lsh_of(seed=seed)
        pair = walks.bank_of(lsh, x[2 * seed : 2 * seed + 2])
        answer = lsh.correlation(pair, "s0", "s1")
        misses += not answer.lower <= exact[2 * seed, 2 * seed + 1] <= answer.upper
    assert misses / seeds <= inputs.tolerated(1 - CONFIDENCE, seeds)


@pytest.mark.parametrize("recall", [0.5, 0.9, 0.99])
def test_pairs_beyond_the_threshold_are_found_with_the_recall_asked_for(recall):
    expected = hits = 0
    for seed in range(200):
        lsh = lsh_of(seed=seed)
        x = walks.values("opposites", seed, 40, 41)
        exact = walks.correlations(x[:, :40])
        answer = lsh.pairs(walks.bank_of(lsh, x), threshold=0.8, recall=recall)
        found = {(int(a[1:]), int(b[1:])) for a, b, *_ in answer.value}
        wanted = {
            (i, j) for i, j in zip(*np.triu_indices(40, 1), strict=True) if abs(exact[i, j]) >= 0.8
        }
        expected += len(wanted)
        hits += len(wanted & found)
    assert expected > 1_000
    assert hits / expected >= recall


def test_pairs_are_all_those_within_the_distance():
    lsh = lsh_of()
    streams = walks.bank_of(lsh, walks.values("opposites", 3, 50, 41))
    answer = lsh.pairs(streams, threshold=0.7, recall=0.9)
    bits = np.stack([bits_of(lsh.at(streams.arrays, i).signature(), 128) for i in range(50)])
    distance = (bits[:, None] != bits[None]).sum(axis=2)
    most = answer.details["differing_bits"]
    expected = {
        (f"s{i}", f"s{j}", float(np.cos(np.pi * distance[i, j] / 128)))
        for i, j in zip(*np.triu_indices(50, 1), strict=True)
        if distance[i, j] <= most or distance[i, j] >= 128 - most
    }
    assert {(a, b, value) for a, b, value, *_ in answer.value} == expected
    few = lsh.pairs(streams, threshold=0.7, recall=0.9, limit=5)
    assert few.value == answer.value[:5]
    assert few.details["found"] == len(expected)


def test_the_most_similar_stream_is_the_one_that_moves_alike():
    lsh = lsh_of()
    x = walks.values("random walks", 4, 30, 41)
    x[17] = 3 + 2 * x[5]
    streams = walks.bank_of(lsh, x)
    answer = lsh.similar(streams, "s5", k=3)
    assert answer.value[0][:2] == ["s17", 1.0]
    assert len(answer.value) == 3
    with pytest.raises(QueryError, match=r"query\.stream='nobody'"):
        lsh.similar(streams, "nobody")


def test_streams_that_do_not_move_are_similar_to_none():
    lsh = lsh_of()
    streams = walks.bank_of(lsh, walks.values("constants", 1, 9, 41))
    assert lsh.pairs(streams).details["constant"] == 6
    assert lsh.similar(streams, "s0").value is None
    assert lsh.correlation(streams, "s0", "s2").value is None
    assert {row[0] for row in lsh.similar(streams, "s2").value} == {"s5", "s8"}


def test_only_the_named_arrays_are_needed_across_streams():
    lsh = lsh_of()
    streams = walks.bank_of(lsh, walks.values("factors", 6, 10, 41))
    needed = Streams(streams.names, {n: streams.arrays[n] for n in LSH.across_arrays})
    assert lsh.pairs(needed) == lsh.pairs(streams)
    assert lsh.similar(needed, "s1") == lsh.similar(streams, "s1")


def test_bounds_and_distances_are_those_of_scipy():
    bits = 64
    h, tail = np.arange(bits + 1), (1 - CONFIDENCE) / 2
    least = np.nan_to_num(stats.beta.ppf(tail, h, bits - h + 1), nan=0.0)
    largest = np.nan_to_num(stats.beta.ppf(1 - tail, h + 1, bits - h), nan=1.0)
    expected = np.cos(np.pi * np.column_stack([h / bits, largest, least]))
    np.testing.assert_allclose(correlation_of(bits), expected, atol=1e-7)
    for threshold, recall in ((0.9, 0.95), (0.5, 0.999), (1.0, 0.9)):
        exact = stats.binom.ppf(recall, 256, np.arccos(threshold) / np.pi)
        assert most_differing(256, threshold, recall) == exact


def test_sizing_by_error_gives_the_bits():
    assert LSH.from_error(0.1).bits == 256
    assert LSH.from_error(0.05, window=60, basic_window=10).bits == 1024
    with pytest.raises(ParameterError, match="error"):
        LSH.from_error(0)


@pytest.mark.parametrize("bits", [0, 63, 100, 1e9])
def test_bits_that_do_not_fit_are_refused(bits):
    with pytest.raises(ParameterError, match="bits"):
        LSH(bits=bits)


@pytest.mark.parametrize(
    "query", [{"threshold": 0.0}, {"threshold": 1.5}, {"limit": 0}, {"recall": 1.0}]
)
def test_arguments_out_of_range_are_named(query):
    lsh = LSH.example()
    streams = walks.bank_of(lsh, walks.values("factors", 1, 3, 60))
    with pytest.raises(QueryError, match=next(iter(query))):
        lsh.pairs(streams, **query)
