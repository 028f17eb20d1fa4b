"""The file through which clients and gateways on this machine find the engine."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec
from msgspec import Struct

from sde.limits import StateLimits
from service.settings import Settings, Topics

_NAME = "address.json"


class LanePlace(Struct, kw_only=True, frozen=True):
    """What whoever reads the state beside the engine has to know."""

    arena: str
    checkpoint: str
    shards: int
    site: str
    limits: StateLimits


class EngineAddress(Struct, kw_only=True, frozen=True):
    """`lane` is missing where the tasks, and so the arena, may be on other machines."""

    bootstrap_servers: str
    topics: Topics
    pid: int
    lane: LanePlace | None = None


def address_path(data_dir: Path) -> Path:
    return data_dir / _NAME


def write_address(settings: Settings) -> Path:
    """Called when the engine is ready; whoever ends it removes the file."""
    lane = None
    if not settings.master:
        lane = LanePlace(
            arena=str(settings.arena_folder.absolute()),
            checkpoint=str(settings.checkpoint.absolute()),
            shards=settings.shards,
            site=settings.site,
            limits=settings.limits,
        )
    address = EngineAddress(
        bootstrap_servers=settings.bootstrap_servers,
        topics=settings.topics,
        pid=os.getpid(),
        lane=lane,
    )
    path = address_path(settings.data_dir)
    new = path.with_name(f".{_NAME}-new")
    new.write_bytes(msgspec.json.format(msgspec.json.encode(address), indent=2))
    new.replace(path)
    return path


def read_address(data: bytes) -> EngineAddress:
    """Raises msgspec.DecodeError for what is none, and for one of another version."""
    return msgspec.json.decode(data, type=EngineAddress)
