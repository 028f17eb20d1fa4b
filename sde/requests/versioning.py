"""Versions of synopses: taken, brought back and removed, at one shard, in one batch."""

from __future__ import annotations

import base64
import logging
from collections.abc import Iterable

from msgspec.structs import replace

from sde.banks.layer import Kept
from sde.records.asked import Asked
from sde.records.result import Done
from sde.records.versions import Removed, VersionInfo, number_in
from sde.registry.registry import Instance
from sde.requests.questions import info_of
from sde.requests.states import put_states, read_state
from sde.shard.shard import Shard
from sde.shard.versions import Versions, pack_part, read_part, unknown_version
from sde.wire import Code, Refusal, RemoveSnapshot, Request, Restore, Snapshot
from sde.wire.framing import pack, unpack

_log = logging.getLogger(__name__)


def done_with(uid: str, instance: Instance) -> Done:
    """The outcome of a change, with what the synopsis is."""
    return Done(uid=uid, info=info_of(instance))


class Versioning:
    """`versions`: where they are kept, None when replaying."""

    def __init__(self, shard: Shard, versions: Versions | None, batch: int) -> None:
        self._shard, self._versions, self._batch = shard, versions, batch
        self._taken: list[VersionInfo] = []  # in this batch, and not removed since
        self._named: set[tuple[str, str]] = set()  # also those whose files could not be written
        self._removed: set[tuple[str, str]] = set()  # the same: uids and versions
        self._last: Asked | None = None  # request that took or removed one

    def take(self, request: Snapshot, asked: Asked) -> tuple[Done, Asked]:
        """Refusal if it has the name of another and shall not take its place.

        Its number is used up before its files are written: all shards count alike, also if the
        disk of one of them is full.
        """
        shard = self._shard
        instance = shard.registry.instance(request.uid)
        if not request.replace:
            self._require_new(request, asked.attached.version)
        number = max(shard.registry.next_version(request.uid), asked.attached.highest + 1)
        version = request.version or str(number)
        shard.registry.keep_version(request.uid, max(number, number_in(version)))
        self._named.add((request.uid, version))
        if self._versions is not None:
            definition, info = instance.definition, info_of(instance)
            taken = VersionInfo(
                uid=request.uid,
                version=version,
                number=number,
                at=asked.time,
                dataset=definition.dataset,
                kind=definition.kind,
                scope=info.scope,
                definition=definition,
                since=instance.since,
                of=shard.of,
                taken_by=asked.attached.place,
            )
            self._versions.save(taken, shard.number, shard.kept(instance))
            self._taken.append(taken)
            self._removed.discard((request.uid, version))
            self._last = asked
            if request.keep is not None:
                self._remove_oldest(taken, asked, request.keep)
        done = replace(done_with(request.uid, instance), value=version)
        return done, replace(asked, attached=replace(asked.attached, versions=[]))

    def used_up(self, request: Request, error: Exception) -> int:
        """The number of a version whose files could not be written; 0 if none was given."""
        if not isinstance(request, Snapshot) or isinstance(error, Refusal):
            return 0
        return self._shard.registry.next_version(request.uid) - 1

    def use_up(self, request: Request, number: int) -> None:
        """Do again what such a version did to the registry."""
        if number and isinstance(request, Snapshot):
            self._shard.registry.keep_version(request.uid, number)

    def _require_new(self, request: Snapshot, found: VersionInfo | None) -> None:
        """Refusal if a version of this name is there: as ingest saw it, or taken in this batch.

        After a crash ingest does not see what this request itself has left.
        """
        name = (request.uid, request.version)
        if name not in self._removed and (found is not None or name in self._named):
            raise Refusal(
                Code.VERSION_EXISTS,
                f"version={request.version!r} of uid={request.uid[:80]!r} is kept already: "
                "expected another name, or `replace`",
                "version",
            )

    def _remove_oldest(self, newest: VersionInfo, asked: Asked, keep: int) -> None:
        """Remove versions of a synopsis until so many are left, the newest among them."""
        known = (*asked.attached.versions, *self._taken)
        there = [
            version
            for name, version in {v.version: v for v in known if v.uid == newest.uid}.items()
            if name != newest.version and (newest.uid, name) not in self._removed
        ]
        oldest_first = sorted(there, key=lambda version: (version.at, version.number))
        for version in oldest_first[: max(0, len(there) + 1 - keep)]:
            self._remove(version, asked)

    def remove(self, request: RemoveSnapshot, asked: Asked) -> Done:
        found = asked.attached.version
        assert found is not None
        self._remove(found, asked)
        return Done(uid=request.uid, value=found.version)

    def _remove(self, version: VersionInfo, asked: Asked) -> None:
        """Shard 0 does it for all; nobody needs the parts any more when the batch is over."""
        place = asked.attached.place
        if self._versions is None or place is None:
            return
        if self._shard.number == 0:
            removed = Removed(version=version, by=place, batch=self._batch, at=asked.time)
            self._versions.remove(removed)
        name = (version.uid, version.version)
        self._taken = [taken for taken in self._taken if (taken.uid, taken.version) != name]
        self._removed.add(name)
        self._last = asked

    def sweep(self) -> None:
        """Called when the requests of a batch are carried out: files of removed versions go."""
        asked = self._last
        if asked is None or self._versions is None or self._shard.number != 0:
            return
        place = asked.attached.place
        assert place is not None
        try:
            self._versions.sweep(place, self._batch, asked.time)
        except OSError as error:  # they go the next time
            _log.warning("files of removed snapshots are left: %s", error)

    def with_news(self, request: Request, asked: Asked) -> Asked:
        """With what ingest could not know of: what requests of the same batch took or removed."""
        if not isinstance(request, Restore | RemoveSnapshot) or self._versions is None:
            return asked
        attached = asked.attached
        for taken in self._taken:
            if taken.uid == request.uid and request.version in (None, taken.version):
                attached = replace(attached, version=taken, fault=None)
        found = attached.version
        if found is not None and (found.uid, found.version) in self._removed:
            unknown = unknown_version(request.uid, request.version)
            attached = replace(attached, version=None, fault=unknown)
        return replace(asked, attached=attached)

    def restore(self, request: Restore, asked: Asked) -> tuple[Done, Asked]:
        """All shards read all parts before any changes: what is wrong with one changes nothing."""
        shard = self._shard
        found = asked.attached.version
        assert found is not None
        uid = request.as_uid or request.uid
        only_own = True  # parts of this shard
        if asked.attached.parts:  # replayed: what was read then counts, not what lies there now
            parts: Iterable[bytes] = unpack(base64.b64decode(asked.attached.parts))
        elif found in self._taken:  # other shards may not have written their parts yet
            assert self._versions is not None
            parts = [self._versions.part(found, shard.number)]
        else:
            assert self._versions is not None
            parts, only_own = self._versions.parts(found), False
        kinds = shard.registry.shelf
        template = kinds[kinds.resolve(found.definition.kind)](**found.definition.params)
        kept = [(one, read_state(template, one.state)) for part in parts for one in read_part(part)]
        if request.as_uid is not None and shard.registry.find(uid) is not None:
            raise Refusal(Code.SYNOPSIS_EXISTS, f"as={uid[:80]!r}: this uid is taken", "as")
        # The one that runs, if it is defined alike, or a new one.
        instance = shard.create(uid, found.definition, found.since)
        shard.empty(instance)
        mine = [each for each in kept if only_own or self._is_mine(instance, each[0])]
        put_states(shard, instance, mine, only_own)
        logged = base64.b64encode(pack([pack_part(one for one, _ in mine)])).decode()
        done = replace(done_with(uid, instance), value=found.version)
        return done, replace(asked, attached=replace(asked.attached, parts=logged))

    def _is_mine(self, instance: Instance, kept: Kept) -> bool:
        stream = instance.definition.stream or kept.stream
        if stream is None:
            return self._shard.number == 0
        return self._shard.owns(instance.definition, stream)
