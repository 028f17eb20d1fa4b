"""What a client asks an engine about states: out, in, and kept in versions."""

from __future__ import annotations

import abc
import base64

from clients.connection import Connection
from clients.descriptions import SnapshotInfo
from clients.errors import BadInput
from clients.fields import optional_stream, text
from clients.handle import ExportFormat, Stream, SynopsisHandle, Uid
from clients.pending import Pending
from clients.records import Records
from clients.times import Moment, span_of
from clients.transport import Message
from clients.waiting import waiting
from sde import wire


class StateRequests(abc.ABC):
    """The part of `Client` that moves and keeps states."""

    _connection: Connection

    @abc.abstractmethod
    def _handle_of(self, reply: Message) -> SynopsisHandle:
        """A handle of the synopsis that a reply is about."""

    def submit_export(
        self,
        uid: Uid,
        /,
        *,
        stream: Stream | None = None,
        format: ExportFormat = "native",
        end: Moment | None = None,
        span: tuple[Moment, Moment] | None = None,
    ) -> Pending[bytes]:
        """The state of a synopsis: `synopses` reads the native form, Apache DataSketches its own.

        `stream` names the one meant where a synopsis has a summary for each; `end` and `span`
        are those of `estimate`.
        """
        when = span_of(end, span)
        request = wire.Export(
            uid=text(uid),
            stream=optional_stream(stream),
            format=format,
            end=when.end,
            start=when.start,
            to=when.to,
        )
        return self._connection.submit(request, lambda reply: base64.b64decode(reply["value"]))

    export = waiting(submit_export)

    def submit_import_state(
        self,
        uid: Uid,
        /,
        state: bytes,
        *,
        stream: Stream | None = None,
        replace: bool = False,
        tuples: int = 0,
    ) -> Pending[None]:
        """Merge a native state into a synopsis, or `replace` what it holds by it.

        `tuples` is how many the state stands for, where that should be counted.
        """
        if not isinstance(state, bytes | bytearray | memoryview):
            raise BadInput(
                f"state={str(state)[:80]!r}: expected bytes, as `export` returns them, not"
                f" {type(state).__name__}"
            )
        request = wire.Import(
            uid=text(uid),
            state=base64.b64encode(state).decode(),
            stream=optional_stream(stream),
            mode="replace" if replace else "merge",
            tuples=tuples,
        )
        return self._connection.submit(request, lambda reply: None)

    import_state = waiting(submit_import_state)

    def submit_snapshot(
        self,
        uid: Uid,
        /,
        version: str | None = None,
        *,
        replace: bool = False,
        keep: int | None = None,
    ) -> Pending[str]:
        """Keep a version of a synopsis outside the engine; its name, a number if none is given.

        A version that has this name already is refused, or with `replace` gives its place. With
        `keep` that many versions stay, this one among them, and older ones are removed.
        """
        request = wire.Snapshot(uid=text(uid), version=version, replace=replace, keep=keep)
        return self._connection.submit(request, lambda reply: str(reply["value"]))

    snapshot = waiting(submit_snapshot)

    def submit_restore(
        self, uid: Uid, /, version: str | None = None, *, as_uid: Uid | None = None
    ) -> Pending[SynopsisHandle]:
        """Bring a version back, the newest if none is named: in its place, or as a new synopsis."""
        new_uid = None if as_uid is None else text(as_uid)
        request = wire.Restore(uid=text(uid), version=version, as_uid=new_uid)
        told = {"uid": new_uid or text(uid)}
        return self._connection.submit(request, lambda reply: self._handle_of({**told, **reply}))

    restore = waiting(submit_restore)

    def submit_remove_snapshot(self, uid: Uid, /, version: str) -> Pending[None]:
        """Remove a version that is kept; the synopsis need not run any more."""
        request = wire.RemoveSnapshot(uid=text(uid), version=version)
        return self._connection.submit(request, lambda reply: None)

    remove_snapshot = waiting(submit_remove_snapshot)

    def submit_snapshots(self, uid: Uid | None = None) -> Pending[Records[SnapshotInfo]]:
        """The versions that are kept, of one synopsis or of all, the oldest first."""
        request = wire.Snapshots(uid=None if uid is None else text(uid))
        return self._connection.submit_list(request, SnapshotInfo)

    snapshots = waiting(submit_snapshots)
