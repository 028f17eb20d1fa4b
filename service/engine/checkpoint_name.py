"""The name of a checkpoint, in a file inside it; made with the checkpoint."""

from __future__ import annotations

import uuid
from pathlib import Path

from service.settings import Settings


def checkpoint_name(settings: Settings) -> str:
    """Batch ids in the commits topic, messages in the union topic and positions of the threads
    beside the query belong to this name: a new checkpoint takes none of them for its own."""
    path = _name_file(settings)
    if not path.exists():
        rename_checkpoint(settings)
    return path.read_text()


def rename_checkpoint(settings: Settings) -> None:
    """Give the checkpoint a name that none had before."""
    path = _name_file(settings)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"sde-{settings.site}-{uuid.uuid4().hex}")


def _name_file(settings: Settings) -> Path:
    return settings.checkpoint / "sde-query-name"
