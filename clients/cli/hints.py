"""Which command to try next, added to an error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from clients.errors import BadParameter, BadQuery, UnknownKind, UnknownSynopsis, UnknownVersion


@contextmanager
def hints_for_create(kind: str) -> Iterator[None]:
    try:
        yield
    except UnknownKind as error:
        error.add_note("'sde kinds' lists all kinds.")
        raise
    except BadParameter as error:
        if error.field != "where":
            error.add_note(f"'sde kinds {kind}' shows its parameters.")
        raise


@contextmanager
def hints_for_estimate() -> Iterator[None]:
    try:
        yield
    except UnknownSynopsis as error:
        error.add_note("'sde list' shows the synopses there are.")
        raise
    except UnknownVersion as error:
        error.add_note("'sde snapshots' shows the versions there are.")
        raise
    except BadQuery as error:
        error.add_note("'sde describe UID' tells its kind, 'sde kinds KIND' the questions.")
        raise
