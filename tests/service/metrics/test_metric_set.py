"""What is written down can be read by Prometheus, whatever the names are."""

from prometheus_client.parser import text_string_to_metric_families

from service.metrics import declared as m
from service.metrics.metric_set import MetricSet
from service.metrics.names import OTHERS, BoundedNames

NASTY = 'a"b\\c\nsde_up 1'


def samples(metrics):
    text = metrics.exposition().decode()
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_counters_gauges_and_histograms_are_read_back_as_they_are():
    metrics = MetricSet((m.TUPLES, m.KAFKA_UP, m.BATCH_SECONDS))
    metrics.add(m.TUPLES, 3, "json")
    metrics.add(m.TUPLES, 4, "json")
    metrics.put(m.KAFKA_UP, 1)
    for seconds in (0.01, 0.2, 999.0):
        metrics.observe(m.BATCH_SECONDS, seconds, "addBatch")
    found = samples(metrics)
    assert found["sde_tuples_total", "json"] == 7
    assert found["sde_kafka_up",] == 1
    buckets = {key[1]: n for key, n in found.items() if key[0] == "sde_batch_seconds_bucket"}
    assert (buckets["0.01"], buckets["0.1"], buckets["0.3"], buckets["+Inf"]) == (1, 1, 2, 3)
    assert found["sde_batch_seconds_count", "addBatch"] == 3
    assert found["sde_batch_seconds_sum", "addBatch"] == 999.21


def test_a_name_with_quotes_and_line_breaks_stays_one_label():
    metrics = MetricSet((m.STREAMS,))
    metrics.put_all(m.STREAMS, {NASTY: 1})
    assert samples(metrics) == {("sde_streams", NASTY): 1}


def test_what_is_not_named_any_more_is_gone():
    metrics = MetricSet((m.STREAMS,))
    metrics.put_all(m.STREAMS, {"a": 1, "b": 2})
    metrics.put_all(m.STREAMS, {"b": 3})
    assert samples(metrics) == {("sde_streams", "b"): 3}


def test_names_beyond_the_first_hundred_are_summed_for_as_long_as_the_process_lives():
    names = BoundedNames()
    first = names.sums({f"n{i}": 1.0 for i in range(150)})
    assert len(first) == 101
    assert first[OTHERS] == 50
    assert names.sums({"new": 2.0, "newer": 3.0, "n7": 1.0}) == {OTHERS: 5.0, "n7": 1.0}
    assert names.highest({"new": 2.0, "newer": 3.0}) == {OTHERS: 3.0}


def test_a_counter_is_named_as_one_and_every_name_is_declared_once():
    for one in (*m.ENGINE, *m.GATEWAY):
        assert one.name.startswith("sde_")
        assert one.name.endswith("_total") == (one.kind == "counter")
        assert bool(one.buckets) == (one.kind == "histogram")
    names = [one.name for one in (*m.ENGINE, *m.GATEWAY)]
    assert len(names) == len(set(names))
