"""Every state and every answer, beside what a batch program makes of the same tuples."""

from __future__ import annotations

import base64
import time
from collections import defaultdict

import numpy as np
from numpy.typing import NDArray

from bench.faults.asking import KINDS, Message
from bench.faults.load import STREAMS, first, stream_name
from clients import Client
from synopses import KINDS as KINDS_OF_SYNOPSES
from synopses import Items, Synopsis

_SECONDS_TO_COUNT = 300.0


def wait_until_counted(sde: Client, count: int) -> None:
    """Return when the engine has read all tuples."""
    deadline = time.monotonic() + _SECONDS_TO_COUNT
    while (seen := sde.describe("count_min dataset").tuples or 0) < count:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{seen} of {count} tuples counted in {_SECONDS_TO_COUNT:g} s")


def wrong_states(sde: Client, count: int) -> list[str]:
    """Names of synopses whose bytes are not those of a recomputation over the tuples."""
    streams, keys = first(count)
    order = np.argsort(streams, kind="stable")
    ends = np.searchsorted(streams[order], np.arange(STREAMS + 1))
    wrong = []
    for kind in KINDS:
        if sde.export(f"{kind} dataset") != _recomputed(kind, keys).to_bytes():
            wrong.append(f"state of {kind} of the data set")
        exports = [
            sde.submit("export", uid=f"{kind} stream", stream=stream_name(i))
            for i in range(STREAMS)
        ]
        for i, export in enumerate(exports):
            one = _recomputed(kind, keys[order[ends[i] : ends[i + 1]]])
            if base64.b64decode(export.result()["value"]) != one.to_bytes():
                wrong.append(f"state of {kind} of stream {stream_name(i)}")
    return wrong


def wrong_answers(requests: dict[str, Message], replies: list[Message], count: int) -> list[str]:
    """Estimates given under way that differ from a recomputation over what they had seen.

    Tuples of one stream are in order, so a reply's `tuples` says exactly which they were. Any
    fault is wrong too: nothing asked for is impossible, but a stream may not have been seen yet.
    """
    streams, keys = first(count)
    asked: dict[str, list[tuple[int, Message]]] = defaultdict(list)
    wrong = []
    for reply in replies:
        request = requests.get(reply["request"])
        if request is None:
            continue
        if reply["status"] != "ok":
            if reply.get("code") != "unknown_stream":
                wrong.append(f"request {reply['request']}: {reply.get('message')}")
        elif request["op"] == "estimate" and "stream" in request:
            asked[request["stream"]].append((request["query"]["key"], reply))
    for stream, answers in asked.items():
        of_stream = keys[streams == int(stream.removeprefix("s"))]
        sketch, added = KINDS_OF_SYNOPSES["count_min"](), 0
        for key, reply in sorted(answers, key=lambda answer: answer[1]["tuples"]):
            sketch.add(Items.of(of_stream[added : reply["tuples"]]))
            added = reply["tuples"]
            expected = sketch.estimate({"type": "frequency", "key": str(key)}).value
            if added > len(of_stream) or reply["value"] != expected:
                wrong.append(
                    f"answer {reply['id']}: {reply['value']} after {added} tuples of {stream}, "
                    f"expected {expected}"
                )
    return wrong


def _recomputed(kind: str, keys: NDArray[np.int64]) -> Synopsis:
    synopsis = KINDS_OF_SYNOPSES[kind]()
    synopsis.add(Items.of(keys, values=keys / 8 if kind == "moments" else None))
    return synopsis
