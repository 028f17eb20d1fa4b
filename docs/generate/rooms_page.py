"""docs/design/rooms.md: the packages of the project, from the listing itself."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

from docs.generate import markdown
from docs.generate.markdown import code

_ROOT = Path(__file__).parents[2]
_PACKAGES = ("clients", "service", "sde", "synopses")
_INTRODUCTION = """\
Four packages, and who may import whom:

```text
 clients ──> sde.wire                          the SDK and the command line: no Spark, no numba
 service ──> sde ──> synopses ──> kernels      never back
```

Each package is divided into rooms (sub-packages). A room imports rooms below it, never one above:
import contracts in `pyproject.toml` enforce it, and that nothing imports in a circle. In the tables
the rooms of `sde` and `service` stand in that order, the top of the flow first."""
_BEFORE = """\
## Before

At commit `b010dd9` the modules of `sde`, `service` and `synopses` lay in one folder each, and seven
packages of `sde` imported each other. A room that is not named here was as it is now.

| room | files |
| --- | --- |
| `sde` | answering, arena, arrays, arrived, bank, block, changing, column, deciding, decimals, definitions, durable, each, fact_file, facts, framing, gathered, kinds_file, kinds_table, layer, library, limits, names, needs, outgoing, partial, plugging, questions, registry, registry_file, selection, shard, slot_table, snapshot, spans, store, times, watches, watching |
| `sde/messages` | catalogue, durations, faults, fields, loop, native, plugins, replies, requests, windows |
| `sde/windows` | counted, ordinal, panes, sessions, spans, sums, watermarks |
| `sde/federation` | asked, checking, clerk, contributing, desk, drift, entrance, frames, ledger, merging, peers, replying, sending, standing, watching |
| `service` | admission, broker, broker_guard, clock, engine, exchange, folder_lock, forwarding, ingest_source, jars, java, maintain_processor, merge_task, peers, progress, python_daemon, query, rescale, rows, settings, shard_batch, spark_classes, spark_home, startup_errors, topics, wanted_file, warm_classes, warm_kernels, warm_up |
| `synopses` | the 21 kinds and the two dozen files they share |"""  # noqa: E501


def text() -> str:
    order = _layers()
    parts = [_INTRODUCTION, "## Now"]
    for package in _PACKAGES:
        rooms = sorted(_rooms(package), key=lambda room: order.get(room, -1))
        rows = [[code(room), _purpose(room), ", ".join(_files(room))] for room in rooms]
        parts += [f"### {package}", markdown.table(["room", "what it is for", "files"], rows)]
    return markdown.page("Rooms", *parts, _BEFORE)


def _rooms(package: str) -> Iterator[str]:
    for found in sorted((_ROOT / package).rglob("__init__.py")):
        yield found.parent.relative_to(_ROOT).as_posix()


def _purpose(room: str) -> str:
    """The first line of the room's docstring."""
    source = (_ROOT / room / "__init__.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").split("\n")[0]


def _files(room: str) -> list[str]:
    return sorted(path.stem for path in (_ROOT / room).glob("*.py") if path.stem != "__init__")


def _layers() -> dict[str, int]:
    """Where a room stands in the import contracts, by its path; 0 is the top."""
    settings = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    order = {}
    for contract in settings["tool"]["importlinter"]["contracts"]:
        for container in contract.get("containers", ()):
            for number, layer in enumerate(contract["layers"]):
                for name in layer.split("|"):
                    order[f"{container}.{name.strip()}".replace(".", "/")] = number
    return order
