"""A version of a synopsis that is kept outside the engine."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from sde.wire import Definition


class VersionInfo(Struct, frozen=True, kw_only=True):
    """What the file beside the kept states says of a version."""

    uid: str
    version: str
    number: int
    at: int  # when it was taken, ms
    dataset: str
    kind: str
    scope: str | dict[str, str]
    definition: Definition
    since: int  # when the synopsis began
    of: int  # shards that kept a part
    bytes: int = 0

    def listed(self) -> dict[str, Any]:
        """What `snapshots` replies."""
        fields: dict[str, Any] = msgspec.to_builtins(self)
        del fields["definition"]
        shards = fields.pop("of")
        return {**fields, "shards": shards}
