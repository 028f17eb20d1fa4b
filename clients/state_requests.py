"""Requests about the states of synopses and the versions of them that are kept."""

from __future__ import annotations

import abc
import base64

from clients.answers import SnapshotInfo
from clients.connection import Connection
from clients.fields import Uid, nothing, text
from clients.handle import ExportFormat, SynopsisHandle
from clients.times import Moment, span_of
from clients.transport import Message


class StateRequests(abc.ABC):
    """The part of `Client` that moves states and keeps versions of them."""

    _connection: Connection

    @abc.abstractmethod
    def synopsis(self, uid: Uid) -> SynopsisHandle: ...

    def export(
        self,
        uid: Uid,
        /,
        *,
        stream: str | None = None,
        format: ExportFormat = "native",
        end: Moment | None = None,
        span: tuple[Moment, Moment] | None = None,
    ) -> bytes:
        """The state of a synopsis: `synopses` reads the native form, Apache DataSketches its own.

        `stream` names the one meant where a synopsis has a summary for each; `end` and `span`
        are those of `estimate`.
        """
        fields: Message = {
            "uid": text(uid),
            "stream": stream,
            "format": format,
            **span_of(end, span),
        }
        return self._connection.submit(
            "export", fields, lambda reply: base64.b64decode(reply["value"])
        ).result()

    def import_state(
        self,
        uid: Uid,
        /,
        state: bytes,
        *,
        stream: str | None = None,
        replace: bool = False,
        tuples: int = 0,
    ) -> None:
        """Merge a native state into a synopsis, or `replace` what it holds by it.

        `tuples` is how many the state stands for, where that should be counted.
        """
        fields: Message = {
            "uid": text(uid),
            "state": base64.b64encode(state).decode(),
            "stream": stream,
            "mode": "replace" if replace else "merge",
            "tuples": tuples or None,
        }
        self._connection.submit("import", fields, nothing).result()

    def snapshot(self, uid: Uid, /, version: str | None = None) -> str:
        """Keep a version of a synopsis outside the engine; its name, made up if none is given."""
        fields: Message = {"uid": text(uid), "version": version}
        return self._connection.submit(
            "snapshot", fields, lambda reply: str(reply["value"])
        ).result()

    def restore(
        self, uid: Uid, /, version: str | None = None, *, as_uid: Uid | None = None
    ) -> SynopsisHandle:
        """Bring a version back, the newest if none is named: in its place, or as a new synopsis."""
        fields: Message = {
            "uid": text(uid),
            "version": version,
            "as": None if as_uid is None else text(as_uid),
        }
        restored = self.synopsis(uid if as_uid is None else as_uid)
        return self._connection.submit("restore", fields, lambda reply: restored).result()

    def snapshots(self, uid: Uid | None = None) -> tuple[SnapshotInfo, ...]:
        """The versions that are kept, of one synopsis or of all, the oldest first."""

        def read(reply: Message) -> tuple[SnapshotInfo, ...]:
            return tuple(SnapshotInfo.of(each) for each in reply["value"])

        fields: Message = {"uid": None if uid is None else text(uid)}
        return self._connection.submit("snapshots", fields, read).result()
