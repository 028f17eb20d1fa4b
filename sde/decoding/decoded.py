"""What decoding gives."""

from __future__ import annotations

from dataclasses import dataclass

from sde.tuples.block import Block


@dataclass(frozen=True, slots=True)
class Decoded:
    """Blocks in the order their tuples stood in; letters in the order of the lines refused."""

    blocks: list[Block]
    letters: list[dict[str, object]]  # JSON for the dead-letter topic
