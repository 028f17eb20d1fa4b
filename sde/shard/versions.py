"""Snapshots of synopses by name and version, in a folder or an object store.

    <root>/<uid>/<version>/version.json          the definition, written by shard 0
                           <shard>-of-<of>       what each shard kept

A version is there when all its files are. Another engine, with any number of shards, can read it.

One that is removed gets a `removed.json` in the place of its `version.json`. Its other files go
later, when no shard can be reading them: see `sweep`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress

import mmh3
import msgspec
import orjson
import pyarrow as pa
from pyarrow import fs

from sde.banks.layer import Kept
from sde.records.versions import Place, Removed, VersionInfo
from sde.wire import Code, Fault, Refusal
from sde.wire.framing import FramingError, pack, unpack

FORMAT = 1
_ABOUT, _REMOVED = "version.json", "removed.json"
_ABANDONED = 24 * 3_600_000  # ms after which what another engine removed may be swept
_MOST_EXPANDED = 255  # times: no LZ4 bytes stand for more


class Versions:
    """`root` is a path or a URI that Arrow knows (s3://, gs://, hdfs://, file://)."""

    def __init__(self, root: str) -> None:
        if "://" in root:
            self._files, self._root = fs.FileSystem.from_uri(root)
        else:
            self._files, self._root = fs.LocalFileSystem(), root

    # -- writing ----------------------------------------------------------------------------------

    def save(self, version: VersionInfo, shard: int, kept: Iterable[Kept]) -> None:
        """One shard's part of a version. Writing it twice changes nothing."""
        folder = self._folder_of(version)
        self._files.create_dir(folder, recursive=True)
        self._write(f"{folder}/{_parts(version.of)[shard]}", pack_part(kept))
        if shard == 0:
            described = {**msgspec.to_builtins(version), "format": FORMAT}
            del described["bytes"]
            self._write(f"{folder}/{_ABOUT}", orjson.dumps(described))
            self._delete(f"{folder}/{_REMOVED}")

    def remove(self, removed: Removed) -> None:
        """A version is there no more. Doing it twice changes nothing."""
        folder = self._folder_of(removed.version)
        self._write(f"{folder}/{_REMOVED}", msgspec.json.encode(removed))
        self._delete(f"{folder}/{_ABOUT}")

    def sweep(self, place: Place, batch: int, at: int) -> None:
        """Delete the files of versions that earlier batches removed; called at the end of a batch.

        In the batch that removes one, other shards may still be restoring it.
        """
        found = fs.FileSelector(self._root, allow_not_found=True, recursive=True)
        for info in self._files.get_file_info(found):
            if not info.path.endswith(f"/{_REMOVED}"):
                continue
            removed = self._removed(info.path)
            if removed is None:
                continue
            own = removed.by.engine == place.engine
            if removed.batch < batch if own else removed.at + _ABANDONED < at:
                self._files.delete_dir(info.path.removesuffix(f"/{_REMOVED}"))

    def _delete(self, path: str) -> None:
        with suppress(FileNotFoundError):
            self._files.delete_file(path)

    def _write(self, path: str, data: bytes) -> None:
        """Whole or not at all, where the file system can rename."""
        with self._files.open_output_stream(f"{path}.tmp") as file:
            file.write(data)
        self._files.move(f"{path}.tmp", path)

    # -- reading ----------------------------------------------------------------------------------

    def versions(self, uid: str | None = None, place: Place | None = None) -> list[VersionInfo]:
        """All complete versions of a synopsis, or of all, oldest first.

        With the place of a request, only those that were there when it was first carried out.
        """
        base = self._root if uid is None else f"{self._root}{_shelf(uid)}"
        found = self._files.get_file_info(
            fs.FileSelector(base, allow_not_found=True, recursive=True)
        )
        sizes = {info.path: info.size for info in found if info.type == fs.FileType.File}
        complete = []
        for path in sizes:
            version = self._seen(path, place)
            if version is None or version.of > len(sizes):
                continue
            folder = path.rpartition("/")[0]
            parts = [f"{folder}/{part}" for part in _parts(version.of)]
            if all(part in sizes for part in parts):
                size = sum(sizes[part] for part in parts)
                complete.append(msgspec.structs.replace(version, bytes=size))
        return sorted(complete, key=lambda version: (version.at, version.number))

    def find(self, uid: str, version: str | None, place: Place | None = None) -> VersionInfo:
        """A version, the newest if none is named; Refusal if there is none."""
        found = [v for v in self.versions(uid, place) if version in (None, v.version)]
        if found:
            return found[-1]
        raise Refusal.of(unknown_version(uid, version))

    def parts(self, version: VersionInfo) -> Iterator[bytes]:
        """What the shards kept of a version; `read_part` tells what each holds."""
        for shard in range(version.of):
            yield self.part(version, shard)

    def part(self, version: VersionInfo, shard: int) -> bytes:
        """What one shard kept."""
        path = f"{self._folder_of(version)}/{_parts(version.of)[shard]}"
        with self._files.open_input_stream(path) as file:
            return bytes(file.read())

    def _seen(self, path: str, place: Place | None) -> VersionInfo | None:
        """The version that a file is about, as the request at a place sees it."""
        if path.endswith(f"/{_ABOUT}"):
            version = self._described(path)
        elif path.endswith(f"/{_REMOVED}") and place is not None:
            removed = self._removed(path)
            is_there = removed is not None and place.is_before(removed.by)
            version = removed.version if removed is not None and is_there else None
        else:
            return None
        if version is not None and place is not None and place.is_before(version.taken_by):
            return None
        return version

    def _removed(self, path: str) -> Removed | None:
        try:
            with self._files.open_input_stream(path) as file:
                removed = msgspec.json.decode(file.read(), type=Removed)
        except (FileNotFoundError, msgspec.DecodeError):
            return None
        return removed if path.endswith(f"{_place(removed.version)}/{_REMOVED}") else None

    def _described(self, path: str) -> VersionInfo | None:
        """What a version's file says; None if it is damaged or of another format.

        One such file must not hide the versions beside it.
        """
        with self._files.open_input_stream(path) as file:
            data = file.read()
        try:
            described = orjson.loads(data)
            if described.pop("format") != FORMAT:
                return None
            version = msgspec.convert(described, VersionInfo)
        except (AttributeError, KeyError, TypeError, ValueError):
            return None
        return version if path.endswith(f"{_place(version)}/{_ABOUT}") else None

    def _folder_of(self, version: VersionInfo) -> str:
        return f"{self._root}{_place(version)}"


def unknown_version(uid: str, version: str | None) -> Fault:
    named = "any version" if version is None else f"version={version!r}"
    reason = f"{named} of uid={uid[:80]!r}: expected one that `snapshots` lists"
    return Fault(Code.UNKNOWN_VERSION, reason, "version")


def _shelf(uid: str) -> str:
    """The folder of a uid, below the root."""
    readable = re.sub(r"[^A-Za-z0-9_-]", "_", uid)[:60]
    return f"/{readable}-{mmh3.hash128(uid.encode()):032x}"


def _place(version: VersionInfo) -> str:
    """The folder of a version, below the root."""
    return f"{_shelf(version.uid)}/{version.version}"


def _parts(of: int) -> list[str]:
    return [f"{shard}-of-{of}" for shard in range(of)]


def pack_part(kept: Iterable[Kept]) -> bytes:
    rows, states = [], []
    for one in kept:
        rows.append([one.stream, one.tuples, one.skipped, one.pane])
        states.append(one.state)
    body = pack(states)
    head = orjson.dumps({"size": len(body), "kept": rows})
    whole = pack([head, pa.Codec("lz4").compress(body, asbytes=True)])
    return pack([mmh3.hash_bytes(whole), whole])


def read_part(part: bytes) -> list[Kept]:
    """Refusal if the bytes are not what `save` wrote."""
    try:
        checksum, whole = unpack(part)
        if checksum != mmh3.hash_bytes(whole):
            raise ValueError("its checksum is another")
        described, body = unpack(whole)
        head = orjson.loads(described)
        if not 0 <= head["size"] <= _MOST_EXPANDED * len(body) + 64:
            raise ValueError(f"size {head['size']}")
        states = unpack(pa.Codec("lz4").decompress(body, head["size"], asbytes=True))
        rows = [(*row[:3], row[3] and tuple(row[3])) for row in head["kept"]]
        return [
            Kept(stream, tuples, skipped, state, pane)
            for (stream, tuples, skipped, pane), state in zip(rows, states, strict=True)
        ]
    except (FramingError, KeyError, TypeError, ValueError, OSError, pa.ArrowException) as error:
        raise Refusal(Code.BAD_STATE, f"a snapshot cannot be read: {error}", "version") from None
