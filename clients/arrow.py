"""pyarrow, which only those need who send tables and files."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from clients.errors import BadInput, MissingExtra


def arrow() -> Any:
    """pyarrow, imported only by those who send tables."""
    try:
        import pyarrow
    except ImportError:
        raise MissingExtra("pyarrow") from None
    return pyarrow


@contextlib.contextmanager
def arrow_trouble_with(what: str) -> Iterator[None]:
    """What Arrow cannot read or convert is the caller's input, not our defect."""
    try:
        yield
    except arrow().ArrowException as error:
        raise BadInput(f"{what}: {error}") from error
