"""What decoding gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sde.decoding.messages import Messages
from sde.records.figures import Taken
from sde.tuples.block import Block


@dataclass(frozen=True, slots=True)
class Decoded:
    """Blocks in the order their tuples stood in; letters in the order of the lines refused."""

    blocks: list[Block]
    letters: list[dict[str, object]]  # JSON for the dead-letter topic
    taken: Sequence[Taken] = ()  # how much that was, by the form of the messages


def taken(
    form: str, messages: Messages, which: NDArray[np.int64], blocks: Sequence[Block]
) -> Taken:
    """How much the messages `which` were that became these blocks."""
    return Taken(
        form=form,
        messages=len(which),
        tuples=sum(map(len, blocks)),
        size=int((messages.ends[which] - messages.starts[which]).sum()),
    )
