"""What a source would make of some messages: for people, so in plain Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import zip_longest

import numpy as np

from sde.decoding.decoded import Decoded
from sde.decoding.messages import Messages
from sde.tuples.block import Block
from sde.tuples.times import NO_TIME
from sde.wire.replies import ReplyFields
from sde.wire.sources import Preview

Decode = Callable[[Messages, None, Preview], Decoded]


def preview(seen: Sequence[Messages], request: Preview, decode: Decode) -> ReplyFields:
    """How many messages were looked at; their tuples and dead letters, at most `limit` of each."""
    tuples: list[ReplyFields] = []
    letters: list[ReplyFields] = []
    for messages in seen:
        decoded = decode(messages, None, request)
        for block in decoded.blocks:
            tuples += _tuples(block)
        letters += decoded.letters
    return {
        "messages": sum(map(len, seen)),
        "tuples": _latest(tuples, request.limit),
        "dead_letters": _latest(letters, request.limit),
    }


def _latest(rows: Iterable[ReplyFields], limit: int) -> list[ReplyFields]:
    """The last ones of all partitions, as many of each as there is room for, in their order."""
    of_partition: dict[tuple[str, int], list[ReplyFields]] = defaultdict(list)
    for row in sorted(rows, key=_place):
        of_partition[row["topic"], row["partition"]].append(row)
    in_turn = zip_longest(*(reversed(own) for own in of_partition.values()))
    chosen = [row for turn in in_turn for row in turn if row is not None]
    return sorted(chosen[:limit], key=_place)


def _place(row: ReplyFields) -> tuple[str, int, int, int]:
    return row["topic"], row["partition"], row["offset"], row.get("line", 0)


def _tuples(block: Block) -> list[ReplyFields]:
    texts = {name: column.texts() for name, column in block.fields.items()}
    found = []
    for row in range(len(block)):
        fields: dict[str, int | float | str] = {}
        for name, column in block.fields.items():
            if column.valid is None or column.valid[row]:
                data = column.data
                fields[name] = (
                    data[row].item() if isinstance(data, np.ndarray) else texts[name][row]
                )
        time = int(block.times[row])
        found.append(
            {
                "topic": block.topic.rpartition("/")[2],
                "partition": block.partition,
                "offset": block.base + int(block.offsets[row]),
                "line": 0 if block.lines is None else int(block.lines[row]),
                "dataset": block.dataset,
                "stream": block.streams[int(block.stream_of[row])],
                "time": None if time == NO_TIME else time,
                "values": fields,
                **({"removes": True} if block.removes else {}),
            }
        )
    return found
