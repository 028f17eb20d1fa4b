"""An INFORE request becomes the records that a native one would have become."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sde.infore.adds import definition_of
from sde.infore.continuous import watch_of
from sde.infore.envelope import ANY_DATASET, LARGEST_UID, SMALLEST_UID, Envelope
from sde.infore.estimates import join_of, may_be_estimate, question_of
from sde.infore.params import Params
from sde.infore.versions import native_version
from sde.wire import (
    Code,
    Definition,
    Delete,
    ListAll,
    Refusal,
    Request,
    Restore,
    Snapshot,
    Snapshots,
    creation,
)
from sde.wire.forms import InforeMessage

ESTIMATE, CONTINUOUS_ADD, JOIN, CREDENTIALS = 3, 5, 6, 101
ESTIMATES = (ESTIMATE, JOIN)
_MOST_UIDS = 1000


def translate(
    message: InforeMessage, place: str, running: Callable[[str], Definition | None]
) -> list[Request]:
    """What a request asks for, to be carried out in this order until one is refused; [] where an
    acknowledgement is all. Refusal says what is wrong.

    `running` tells the definition of a uid: what an estimate means depends on it. `place` is the
    id of the request, as `externalUID` need not be unique.

    >>> message = {"requestID": 2, "dataSetkey": "Forex", "uid": 1110}
    >>> translate(message, "requests-0-17", lambda uid: Definition("Forex", "count_min"))
    [Delete(id='requests-0-17', uid='1110', sites=None, deadline=None)]
    """
    asked = _Asked(message, place, running, Envelope(message))
    read = _READERS.get(asked.envelope.request_id)
    if read is None:
        known = ", ".join(map(str, _READERS))
        asked.envelope.refuse("requestID", f"one of {known}", Code.UNKNOWN_OP)
    return read(asked)


@dataclass(frozen=True, slots=True)
class _Asked:
    message: InforeMessage
    place: str
    running: Callable[[str], Definition | None]
    envelope: Envelope

    @property
    def uid(self) -> str:
        return self.envelope.uid

    def definition(self, uid: str) -> Definition | None:
        """What runs under a uid; Refusal if that is of a data set that was not named."""
        found = self.running(uid)
        named = self.envelope.dataset_or_none
        if found is None or named is None or found.dataset in _names(named):
            return found
        raise Refusal(
            Code.UNKNOWN_SYNOPSIS,
            f"uid={uid} is of the data set {found.dataset!r}: a uid is used once in all data sets",
            "uid",
        )

    def need_definition(self, uid: str, field: str = "uid") -> Definition:
        found = self.definition(uid)
        if found is None:
            raise Refusal(
                Code.UNKNOWN_SYNOPSIS, f"{field}={uid}: expected the uid of a synopsis", field
            )
        return found

    def added(self) -> Definition:
        return definition_of(self.envelope, Params(self.message))


def _names(dataset: str) -> set[str]:
    """requestID 6 names its data sets in one text."""
    return {dataset, *(name.strip() for name in dataset.split(","))}


# -- one reader for each requestID ----------------------------------------------------------------


def _add(asked: _Asked) -> list[Request]:
    running = asked.definition(asked.uid)
    if running is not None:
        return [_add_again(asked, running)]
    create = creation(asked.place, asked.uid, asked.added())
    if asked.envelope.request_id == CONTINUOUS_ADD:
        return [create, watch_of(create)]
    return [create]


def _add_again(asked: _Asked, running: Definition) -> Request:
    """The same add changes nothing; with the parameters of an estimate it is one: a widespread
    client sends its estimates so."""
    try:
        definition = asked.added()
        if definition == running:
            return creation(asked.place, asked.uid, definition)
        problem = "this add has another definition"
    except Refusal as refused:
        problem = refused.fault.message
    arguments = Params(asked.message, Code.BAD_QUERY)
    if may_be_estimate(running, arguments):
        return question_of(asked.place, asked.uid, running, arguments)
    raise Refusal(
        Code.SYNOPSIS_EXISTS,
        f"uid={asked.uid} is a running {running.kind} ({problem}); delete it first or choose "
        "another uid",
        "uid",
    )


def _update(asked: _Asked) -> list[Request]:
    """Other parameters mean an empty synopsis in its place; the same ones change nothing."""
    running, definition = asked.need_definition(asked.uid), asked.added()
    create = creation(asked.place, asked.uid, definition)
    if definition == running:
        return [create]
    return [Delete(id=f"{asked.place}+delete", uid=asked.uid), create]


def _delete(asked: _Asked) -> list[Request]:
    asked.need_definition(asked.uid)
    return [Delete(id=asked.place, uid=asked.uid)]


def _estimate(asked: _Asked) -> list[Request]:
    running = asked.need_definition(asked.uid)
    return [question_of(asked.place, asked.uid, running, Params(asked.message, Code.BAD_QUERY))]


def _join(asked: _Asked) -> list[Request]:
    p = Params(asked.message, Code.BAD_QUERY)
    n = p.whole(0, f"the number of synopses, from 2 to {_MOST_UIDS}", 2, _MOST_UIDS)
    uids = tuple(_uid_at(p, place) for place in range(1, n + 1))
    running = [asked.need_definition(uid, f"param[{place}]") for place, uid in enumerate(uids, 1)]
    return [join_of(asked.place, uids, running[0], p)]


def _snapshot(asked: _Asked) -> list[Request]:
    return [Snapshot(id=asked.place, uid=asked.uid)]


def _restore_latest(asked: _Asked) -> list[Request]:
    return [Restore(id=asked.place, uid=asked.uid)]


def _restore(asked: _Asked) -> list[Request]:
    return [Restore(id=asked.place, uid=asked.uid, version=_version(asked))]


def _restore_as(asked: _Asked) -> list[Request]:
    new = _uid_at(Params(asked.message), 1)
    version = _version(asked)
    return [Restore(id=asked.place, uid=asked.uid, version=version, as_uid=new)]


def _list_snapshots(asked: _Asked) -> list[Request]:
    return [Snapshots(id=asked.place, uid=asked.envelope.uid_or_none)]


def _list(asked: _Asked) -> list[Request]:
    dataset = asked.envelope.dataset_or_none
    return [ListAll(id=asked.place, dataset=None if dataset == ANY_DATASET else dataset)]


def _acknowledge(asked: _Asked) -> list[Request]:
    """Snapshots are kept by the engine: nobody's credentials are needed."""
    return []


def _uid_at(p: Params, place: int) -> str:
    return str(p.whole(place, "the uid of a synopsis, a whole number", SMALLEST_UID, LARGEST_UID))


def _version(asked: _Asked) -> str:
    p = Params(asked.message)
    expected = "the version of a snapshot, a whole number of at least 0"
    return native_version(p.whole(0, expected, 0, 2**31 - 1))


_READERS: dict[int, Callable[[_Asked], list[Request]]] = {
    1: _add,
    2: _delete,
    ESTIMATE: _estimate,
    4: _add,
    CONTINUOUS_ADD: _add,
    JOIN: _join,
    7: _update,
    100: _snapshot,
    CREDENTIALS: _acknowledge,
    200: _restore_latest,
    201: _restore,
    202: _restore_as,
    301: _list_snapshots,
    1000: _list,
}
