"""docs/reference/metrics.md: all metrics, from their declarations."""

from __future__ import annotations

from collections.abc import Iterable

from docs.generate import markdown
from docs.generate.markdown import code
from service.metrics.declared import ENGINE, GATEWAY, Declared
from service.metrics.names import MOST_NAMES

_INTRODUCTION = f"""\
What `GET /metrics` of the HTTP door says, in Prometheus' text format. How to scrape it, the alerts
and the board: see [monitoring](../how-to/monitoring.md).

Counters of the engine begin at 0 when it starts. No label is a uid or a stream, and nothing that
tuples name is one: data sets, topics and kinds are those of requests and settings, the first
{MOST_NAMES} that an engine meets; others are summed under `other`."""
_ENGINE = """\
The engine also writes them to `metrics.prom` in `data_dir`: each second while batches run, every
five seconds while none does."""
_GATEWAY = "Of one gateway, since it was started."


def text() -> str:
    return markdown.page(
        "Metrics",
        _INTRODUCTION,
        "## Of the engine",
        _ENGINE,
        _table(ENGINE),
        "## Of the gateway",
        _GATEWAY,
        _table(GATEWAY),
    )


def _table(declared: Iterable[Declared]) -> str:
    rows = [
        [code(one.name), one.kind, ", ".join(map(code, one.labels)), one.text] for one in declared
    ]
    return markdown.table(["metric", "kind", "labels", "meaning"], rows)
