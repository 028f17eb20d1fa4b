"""Shards that a past version wrote down go on as if nothing had happened.

golden/checkpoint/a.tar.xz holds the durable form of all shards of a site (head, log entries and
chunks of a snapshot each, one of them in the middle of a new one), its folder of kept synopses,
what was under way between two batches, and the batches that the version of that day ran from there
on: what came and all that it said. b.tar.xz is the same of one of its peers. The files were written
by golden/checkpoint/make_checkpoint.py, with commit b010dd9.
"""

import base64
import itertools
import json
import re
import shutil
import tarfile
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest

from sde.federation.frames import Content, is_frame, seal, sender_of
from sde.federation.peers import Peers
from sde.limits import StateLimits
from sde.plugins.trust import SIGNED, Trust
from sde.records.seal import LoopSeal
from sde.shard.keeper import ShardKeeper, StateFormatError
from sde.stages.maintain import SHARD_CODE
from sde.testing import LocalEngine
from sde.wire.durations import moment_text
from tests.golden.same_replies import same

FOLDER = Path(__file__).parents[1] / "golden" / "checkpoint"
SITES = ("a", "b")
LIMITS = StateLimits(plugin_seconds=60, plugin_bytes=256 << 20)


class Backing:
    """The durable form of one shard, as it lies in a folder; what is written stays in memory."""

    def __init__(self, folder):
        self.head = json.loads((folder / "head.json").read_text())
        self.entries, self.chunks = numbered(folder, "entry"), numbered(folder, "chunk")

    def read_head(self):
        return self.head

    def write_head(self, head):
        self.head = json.loads(json.dumps(head))

    def read_entry(self, number):
        return self.entries[number]

    def write_entry(self, number, entry):
        self.entries[number] = entry

    def drop_entry(self, number):
        del self.entries[number]

    def read_chunk(self, number):
        return self.chunks[number]

    def write_chunk(self, number, chunk):
        self.chunks[number] = chunk

    def drop_chunk(self, number):
        del self.chunks[number]


def numbered(folder, what):
    return {int(p.name.partition("-")[2]): p.read_bytes() for p in folder.glob(f"{what}-*")}


class KeptEngine(LocalEngine):
    """The stages over shards that rest in a backing; `arena` is the folder of their cache."""

    def __init__(self, kept, arena):
        about = json.loads((kept / "engine.json").read_text())
        self.backings = [Backing(folder) for folder in sorted(kept.glob("shard-*"))]
        self.arena, self._tokens = arena, (f"new {n}" for n in itertools.count())
        self._secrets = about["secrets"]
        site = about["site"]
        super().__init__(
            shards=len(self.backings),
            limits=LIMITS,
            snapshots=kept / "snapshots",
            trust=Trust(SIGNED, tuple(about["plugin_keys"])),
            site=site,
            secrets=self._secrets[site],
            seal=LoopSeal.new(about["own"], {"union": 1 << 60, "requests": 1 << 60}),
        )
        self._keys = {}  # that requests over sites have now, by those they had then
        self.batch, self.union = about["batch"], self._told(about["union"])
        self._offsets = {(topic, part): offset for topic, part, offset in about["offsets"]}

    def _told(self, union):
        """What goes round the loop, under the name that this engine's checkpoint has."""
        named = {"checkpoint": self.wiring.seal.checkpoint}
        told = [payload(message) for message in union]
        return [self._now(one) if isinstance(one, bytes) else {**one, **named} for one in told]

    def _now(self, frame):
        """A contribution to a request, under the key that the request has now."""
        (sender, content) = self._peers().unseal(frame) if self._is_of_peer(frame) else ("", None)
        key = self._keys.get(content.head.key) if content else None
        if key is None:
            return frame
        secret = self._secrets[self.wiring.site][sender].encode()
        head = msgspec.structs.replace(content.head, key=key)
        return seal(sender, self.wiring.site, secret, Content(head, content.parts))

    def _peers(self):
        return Peers(self.wiring.site, self._secrets[self.wiring.site])

    def _is_of_peer(self, frame):
        return is_frame(frame) and sender_of(frame) != self.wiring.site

    def shard(self, number):
        return self._opened[number]

    def replies(self, requests=(), data=(), partition=0, time=0):
        batch, before = self.batch, [len(entries) for entries in self.entries]
        with ExitStack() as stack:
            keepers = [self.keeper(number) for number in range(len(self.backings))]
            self._opened = [stack.enter_context(keeper.opened()) for keeper in keepers]
            replies = super().replies(requests, data, partition, time)
            for number, keeper in enumerate(keepers):
                new = self.entries[number][before[number] :]
                keeper.commit(new[0] if new else b"", batch)
        return replies

    def keeper(self, number):
        return ShardKeeper(
            self.arena / f"shard-{number}",
            number,
            len(self.backings),
            self.limits,
            self.backings[number],
            SHARD_CODE,
            lambda: next(self._tokens),
        )

    def play(self, step):
        """A batch with what came then; all that is said, to clients and to other sites."""
        self.union += self._told(step["union"])
        requests = [as_meant(payload(r)) for r in step["requests"]]
        self.outbound.clear()
        replies = self.replies(requests, step["data"], step["partition"], step["time"])
        said = {"replies": replies, "outbound": [self._unsealed(*sent) for sent in self.outbound]}
        text = json.dumps(said)
        for then, now in self._keys.items():
            text = text.replace(now, then)
        return json.loads(text)

    def _unsealed(self, to, frame):
        _, content = Peers(to, self._secrets[to]).unseal(frame)
        found = re.fullmatch(r".+/(requests-0-\d+)@\d+(\+?)", content.head.key)
        if found:
            self._keys["".join(found.groups())] = content.head.key
        head = msgspec.to_builtins(content.head)
        head.pop("time", None)
        return [to, head, [base64.b64encode(part).decode() for part in content.parts]]


def as_meant(request):
    """Then a window that named no lateness waited for nobody."""
    if not isinstance(request, dict) or not isinstance(request.get("window"), dict):
        return request
    by_count = isinstance(request["window"].get("size"), int)
    default = {} if by_count else {"lateness": "0s"}
    return {**request, "window": {**default, **request["window"]}}


def payload(message):
    return base64.b64decode(message["base64"]) if message.keys() == {"base64"} else message


def assert_same(said, kept, where):
    """So that a difference is told by the one reply that has it."""
    for what in ("replies", "outbound"):
        assert len(said[what]) == len(kept[what]), (where, what, said[what], kept[what])
        for one, two in zip(said[what], kept[what], strict=True):
            plain_one, plain_two = without_sizes(one), without_sizes(two)
            assert same(plain_one, plain_two), f"{where}, {what}:\n{one}\nwas:\n{two}"


def without_sizes(said):
    """Frames have grown since: their keys say more. Plug-ins are listed with what they declare.

    Faults told times in milliseconds.
    """
    grown = ("received", "bytes", "declared")
    if isinstance(said, dict):
        told = {n: without_sizes(v) for n, v in said.items() if n not in grown}
        if "message" in told:
            told["message"] = re.sub(r"\b\d{13}\b", _as_time, told["message"])
        return told
    return [without_sizes(one) for one in said] if isinstance(said, list) else said


def _as_time(milliseconds):
    return moment_text(int(milliseconds[0]))


@pytest.fixture(params=SITES)
def kept(request, tmp_path):
    """What the version of that day left, in a folder of the test's own."""
    with tarfile.open(FOLDER / f"{request.param}.tar.xz") as tar:
        tar.extractall(tmp_path / "kept", filter="data")
    return tmp_path / "kept"


@pytest.fixture
def steps(kept):
    found = json.loads((kept / "steps.json").read_text())
    assert len(found) > 10
    return found


def test_shards_of_a_past_version_go_on_and_say_what_it_said(kept, steps, tmp_path):
    """Windows close, watches answer with the next number, repeated requests get their outcome."""
    engine = KeptEngine(kept, tmp_path / "arena")
    for number, step in enumerate(steps):
        assert_same(engine.play(step), step, f"batch {number}")


def test_what_is_added_to_a_log_of_a_past_version_is_read_again(kept, steps, tmp_path):
    """The arena is lost now and then: all comes from the old snapshot, the old log, the new."""
    engine = KeptEngine(kept, tmp_path / "arena")
    for number, step in enumerate(steps):
        if number % 20 == 15:
            shutil.rmtree(engine.arena)
        assert_same(engine.play(step), step, f"batch {number}")


def test_the_durable_form_has_both_a_snapshot_and_a_log(kept, tmp_path):
    for backing in KeptEngine(kept, tmp_path).backings:
        head = backing.head
        assert set(range(head["first_entry"], head["next_entry"])) <= backing.entries.keys()
        assert set(range(head["first_chunk"], head["end_chunk"])) <= backing.chunks.keys()
        assert backing.entries
        assert backing.chunks


def test_it_is_refused_with_another_number_of_shards(kept, tmp_path):
    engine = KeptEngine(kept, tmp_path / "arena")
    engine.backings.append(engine.backings[0])
    with pytest.raises(StateFormatError, match="shards="):
        engine.replies()
