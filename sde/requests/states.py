"""States that come from outside: read with care, and put into a synopsis."""

from __future__ import annotations

from sde.banks.layer import Kept
from sde.plugins.remote import Remote
from sde.registry.registry import Instance
from sde.shard.shard import Shard
from sde.wire import Code, Refusal
from synopses import MergeError, StateError, Synopsis


def read_state(template: Synopsis, state: bytes) -> Synopsis:
    """Refusal if the bytes are no state of a synopsis as the template is."""
    try:
        synopsis = type(template).from_bytes(state)
        if synopsis.params != template.params:
            raise StateError(f"a state of {synopsis!r}, expected {template!r}")
        if isinstance(synopsis, Remote):
            synopsis.verify()
    except StateError as error:
        raise Refusal(Code.BAD_STATE, f"state: {error}", "state") from None
    return synopsis


def put_states(
    shard: Shard,
    instance: Instance,
    kept: list[tuple[Kept, Synopsis]],
    only_own: bool = False,
) -> None:
    """Add what was kept to what a synopsis holds; see `Shard.put`."""
    try:
        shard.put(instance, kept, only_own)
    except MergeError as error:
        raise Refusal(Code.NOT_MERGEABLE, f"{error}: expected mode replace", "mode") from None
