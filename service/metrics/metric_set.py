"""Values of declared metrics, and their exposition in Prometheus' text format."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector

from service.metrics.declared import Declared

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels = tuple[str, ...]


class _Observed:
    """A histogram of one time series; `counts` are not cumulative, the last is beyond all."""

    def __init__(self, buckets: Sequence[float]) -> None:
        self._buckets, self._counts = buckets, [0] * (len(buckets) + 1)
        self.sum = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._buckets, value)] += 1
        self.sum += value

    def cumulative(self) -> list[tuple[str, float]]:
        total, found = 0, []
        for bound, count in zip((*map(str, self._buckets), "+Inf"), self._counts, strict=True):
            total += count
            found.append((bound, float(total)))
        return found


class MetricSet(Collector):
    """Used in one thread. A time series begins with its first value."""

    def __init__(self, declared: Iterable[Declared]) -> None:
        self._values: dict[Declared, dict[Labels, float]] = {}
        self._observed: dict[Declared, dict[Labels, _Observed]] = {}
        for one in declared:
            if one.kind == "histogram":
                self._observed[one] = {}
            else:
                self._values[one] = {}
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def add(self, metric: Declared, count: float, *labels: str) -> None:
        values = self._values[metric]
        values[labels] = values.get(labels, 0) + count

    def put(self, metric: Declared, value: float, *labels: str) -> None:
        self._values[metric][labels] = value

    def put_all(self, metric: Declared, values: Mapping[str, float]) -> None:
        """The values by its one label; those that are not named are gone."""
        self._values[metric] = {(label,): value for label, value in values.items()}

    def drop(self, metric: Declared, *labels: str) -> None:
        self._values[metric].pop(labels, None)

    def observe(self, metric: Declared, value: float, *labels: str) -> None:
        by_labels = self._observed[metric]
        if labels not in by_labels:
            by_labels[labels] = _Observed(metric.buckets)
        by_labels[labels].observe(value)

    def exposition(self) -> bytes:
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Called by `generate_latest`."""
        for metric, values in self._values.items():
            made = CounterMetricFamily if metric.kind == "counter" else GaugeMetricFamily
            family = made(metric.name, metric.text, labels=metric.labels)
            for labels, value in values.items():
                family.add_metric(labels, value)
            yield family
        for metric, observed in self._observed.items():
            histogram = HistogramMetricFamily(metric.name, metric.text, labels=metric.labels)
            for labels, one in observed.items():
                histogram.add_metric(labels, one.cumulative(), one.sum)
            yield histogram
