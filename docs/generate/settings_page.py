"""docs/reference/settings.md: the settings of `sde serve`, from their declarations."""

from __future__ import annotations

from dataclasses import MISSING, Field, fields
from typing import Any

from docs.generate import markdown
from docs.generate.comments import comments
from docs.generate.markdown import code
from sde.limits import StateLimits
from service.http_settings import HttpSettings, HttpToken
from service.metrics_settings import MetricsSettings
from service.peer_settings import Peer
from service.settings import Settings, Topics

_INTRODUCTION = """\
A setting is a line of a TOML file (`sde serve --config FILE`), a variable of the environment
(`SDE_` and its name in capitals), or a flag of `sde serve` (`--batch-seconds 1`). A flag wins over
a variable, a variable over the file. Tables (`[topics]`, `[limits]`, `[kafka]`, `[http]`,
`[metrics]`, `[peers.NAME]`) are set in the file. An unknown name stops the start with a message
that names it.

How to choose them: see [operations](../how-to/operations.md)."""
_MIB = 1 << 20
_TABLES = ("kafka", "topics", "limits", "peers", "metrics")
_OF_THIS_MACHINE = {"shards": "2 × cores", "cores": "cores of the machine"}
_KAFKA = """\
Any setting of librdkafka by its own name, for every Kafka client of the service: TLS, SASL and so
on. On the command line: `-X NAME=VALUE`."""
_LIMITS = """\
They are limits of the whole engine, all shards together. A request that would go over one is
refused with the code `limit_exceeded`; tuples that find no room are left out and counted (`shed`
in `describe`)."""
_PEERS = """\
One table for each other site, by its name. How sites work together: see
[several sites](../how-to/several-sites.md)."""

_HTTP = """\
The HTTP door: see [HTTP](../how-to/http.md). `--http HOST:PORT` says where it listens, also if a
table says the rest. At any address but a loopback one it needs tokens, one table each; `sde gateway
token NAME` makes a token and prints its table."""

_METRICS = """\
Beside [all other metrics](metrics.md): see [monitoring](../how-to/monitoring.md)."""


def text() -> str:
    plain = [f for f in fields(Settings) if f.name not in _TABLES]
    return markdown.page(
        "Settings",
        _INTRODUCTION,
        _table(plain, {}),
        "## [topics]",
        _table(fields(Topics), comments(Topics)),
        "## [limits]",
        _LIMITS,
        _table(fields(StateLimits), {}),
        "## [kafka]",
        _KAFKA,
        "## [http]",
        _HTTP,
        _table([f for f in fields(HttpSettings) if f.name != "tokens"], {}),
        "## [http.tokens.NAME]",
        _table(fields(HttpToken), {}),
        "## [metrics]",
        _METRICS,
        _table(fields(MetricsSettings), {}),
        "## [peers.NAME]",
        _PEERS,
        _table(fields(Peer), comments(Peer)),
    )


def _table(declared: Any, meanings: dict[str, str]) -> str:
    rows = [
        [code(f.name), _default(f), f.metadata.get("help", meanings.get(f.name, ""))]
        for f in declared
    ]
    return markdown.table(["setting", "default", "meaning"], rows)


def _default(field: Field[Any]) -> str:
    if field.name in _OF_THIS_MACHINE:
        return _OF_THIS_MACHINE[field.name]
    if field.default_factory is not MISSING or field.default in ("", (), None):
        return "–"
    if field.default is MISSING:
        return "required"
    if isinstance(field.default, tuple):
        return code(", ".join(field.default))
    if isinstance(field.default, int) and field.default and field.default % _MIB == 0:
        return f"{field.default // _MIB} MiB"
    return code(str(field.default))
