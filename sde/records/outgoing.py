"""merge -> Kafka: messages to be written, and what the topics are for that they go to."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from sde.records.loop import Loop, loop_bytes
from sde.records.seal import LoopSeal

LARGEST_LOOP = 12 << 20  # bytes of a message to the loop: its topic takes 16 MiB
_JSON = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


class Topic(enum.StrEnum):
    """What a topic is for."""

    OUTPUT = "output"
    LOOP = "loop"
    OUTBOUND = "outbound"  # frames for other sites; the key is the name of the site
    LOG = "log"  # replies to INFORE's requests that are no estimates, where there is such a topic


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message to be written; the key of a reply is the uid."""

    key: str
    value: bytes
    topic: Topic = Topic.OUTPUT


def json_bytes(fields: Mapping[str, object]) -> bytes:
    return orjson.dumps(fields, option=_JSON)


@dataclass(frozen=True, slots=True)
class LoopWriter:
    """Seals what merge, in a batch, tells the shards of the next one."""

    seal: LoopSeal
    batch: int

    def message(self, message: Loop) -> Outgoing:
        return Outgoing("", loop_bytes(message, self.seal, self.batch), Topic.LOOP)

    def body(self, body: bytes) -> Outgoing:
        """What is no message of the loop: a site's contribution to its own state."""
        return Outgoing("", self.seal.close(body, self.batch), Topic.LOOP)
