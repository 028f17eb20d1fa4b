"""What to try next, added to an error. The engine decides what is wrong; this only helps."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from clients.errors import BadParameter, BadQuery, UnknownKind, UnknownSynopsis, UnknownVersion
from sde.wire import catalogue


@contextmanager
def hints_for_create(kind: str) -> Iterator[None]:
    try:
        yield
    except UnknownKind as error:
        error.add_note(nearest(kind, catalogue.kinds()) + "'sde kinds' lists all kinds.")
        raise
    except BadParameter as error:
        declared = catalogue.kinds().get(kind, {"parameters": []})
        names = [each["name"] for each in declared["parameters"]]
        meant = nearest(error.field.rpartition(".")[2], names)
        error.add_note(f"{meant}'sde kinds {kind}' shows its parameters.")
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


def nearest(word: str, names: Collection[str]) -> str:
    """A sentence naming what was probably meant, or nothing."""
    close = [] if word in names else difflib.get_close_matches(word, names, 1)
    return f"Did you mean {close[0]}? " if close else ""
