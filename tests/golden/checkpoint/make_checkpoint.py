"""Writes what a past version left behind: the durable form of shards, and a checkpoint of Spark.

It runs in a checkout of commit b010dd9 only, whose code wrote what the files of this folder hold:

    git worktree add ../old b010dd9
    cd ../old
    PYTHONPATH=. python <this file> durable     # a.tar.xz, b.tar.xz: without Spark and Kafka
    PYTHONPATH=. python <this file> spark       # spark.tar.xz: a real engine on its own broker

Files that are there stand for checkpoints that people have: they are not made again. A new format
gets files of its own.
"""

from __future__ import annotations

import base64
import io
import itertools
import json
import lzma
import os
import shutil
import sys
import tarfile
import tempfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent
sys.path.insert(0, "tests")

T0 = 1_700_000_000_000
STREAMS = [f"s{n}" for n in range(5)]


def packed(folder: Path, name: str) -> None:
    """A folder as a tar with nothing in it that a second run would write differently."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            about = tarfile.TarInfo(str(path.relative_to(folder)))
            about.size = path.stat().st_size
            with path.open("rb") as file:
                tar.addfile(about, file)
    compressed = lzma.compress(data.getvalue(), preset=9 | lzma.PRESET_EXTREME)
    (FOLDER / name).write_bytes(compressed)
    print(name, len(data.getvalue()), "bytes, compressed", len(compressed))


# -- the durable form -----------------------------------------------------------------------------


class Backing:
    def __init__(self):
        self.head, self.entries, self.chunks = None, {}, {}

    def read_head(self):
        return self.head

    def write_head(self, head):
        self.head = head

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

    def save(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / "head.json").write_text(json.dumps(self.head))
        for what, held in (("entry", self.entries), ("chunk", self.chunks)):
            for number, data in held.items():
                (folder / f"{what}-{number}").write_bytes(data)


def shown(payload):
    return {"base64": base64.b64encode(payload).decode()} if isinstance(payload, bytes) else payload


def durable_form() -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from plugin_sources import TOTAL, plugin_request, touchy
    from pure_engine import PureEngine
    from sde.messages.plugins import signed_bytes
    from sites import SITES, Sites, peers_of, secret

    from sde import durable, fact_file
    from sde.federation.frames import sender_of
    from sde.limits import StateLimits
    from sde.plugins.trust import SIGNED, Trust
    from synopses import KINDS

    author = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    public = base64.b64encode(author.public_key().public_bytes_raw()).decode()
    trust, limits = Trust(SIGNED, (public,)), StateLimits(plugin_seconds=60, plugin_bytes=256 << 20)

    class KeptEngine(PureEngine):
        """Rests in backings; writes down what it is given and says if `recorded` is a list."""

        def __init__(self, folder, shards, **options):
            super().__init__(shards=shards, **options)
            self.backings = [Backing() for _ in range(shards)]
            self._folder, self._tokens = folder, map(str, itertools.count())
            self.most_entries = [6] * shards
            self.recorded = None

        def shard(self, number):
            return self._opened[number]

        def replies(self, requests=(), data=(), partition=0, time=T0):
            came = [u for u in self.union if self._is_foreign(u)]
            waited = len(self.outbound)
            batch, before = self.batch, [len(entries) for entries in self.entries]
            with ExitStack() as stack:
                keepers = [self._keeper(number) for number in range(len(self.backings))]
                self._opened = [stack.enter_context(keeper.opened()) for keeper in keepers]
                replies = super().replies(requests, data, partition, time)
                for number, keeper in enumerate(keepers):
                    new = self.entries[number][before[number] :]
                    durable._MOST_ENTRIES = self.most_entries[number]
                    keeper.commit(new[0] if new else b"", batch)
            if self.recorded is not None:
                step = {
                    "union": [shown(u) for u in came],
                    "requests": [shown(r) for r in requests],
                    "data": list(data),
                    "partition": partition,
                    "time": time,
                    "replies": list(replies),
                    "outbound": [self._opened_frame(*sent) for sent in self.outbound[waited:]],
                }
                self.recorded.append(step)
            return replies

        def _opened_frame(self, to, frame):
            _, content = peers_of(to).unseal(frame)
            return [to, content.head, [base64.b64encode(part).decode() for part in content.parts]]

        def _is_foreign(self, message):
            """Whether it is from elsewhere: the engine does not say it to itself."""
            if isinstance(message, bytes):
                return sender_of(message) != self.merge._site
            return message["op"] == "tick"

        def _keeper(self, number):
            return durable.ShardKeeper(
                self._folder / f"shard-{number}",
                number,
                len(self.backings),
                self.limits,
                self.backings[number],
                lambda: next(self._tokens),
            )

        def save(self, folder):
            for number, backing in enumerate(self.backings):
                backing.save(folder / f"shard-{number}")
            about = {
                "batch": self.batch,
                "offsets": [[*place, offset] for place, offset in self._offsets.items()],
                "union": [shown(u) for u in self.union],
                "site": self.merge._site,
                "secrets": {s: {o: secret(s, o) for o in SITES if o != s} for s in SITES},
                "own": f"only {self.merge._site}",
                "plugin_keys": list(trust.keys),
            }
            (folder / "engine.json").write_text(json.dumps(about))

    work = Path(tempfile.mkdtemp())

    def written_anew(file):
        """Facts come in two forms: as they happened, and as what is left of them."""
        if not hasattr(file._store, "_folder"):
            return False
        place, name = Path(*file._store._folder.parts[-2:]), file._name
        if name == "registry":
            anew = str(place) in ("a/shard-1", "b/shard-0")
        else:
            anew = place.parts[0] == "a"
        if anew:
            data = fact_file._lines(file._holder.facts())
            file._store.write_blob(f"{name}.facts", data)
            file._known = len(data)
            file._rewritten += 1
            file._sizes()[:2] = file._rewritten, len(data)
        return anew

    fact_file.FactFile._rewrite = written_anew
    durable._CHUNK_BYTES = 20_000
    sites = Sites()
    for name, shards in (("a", 2), ("b", 1)):
        sites[name] = KeptEngine(
            work / name,
            shards,
            limits=limits,
            snapshots=work / f"snapshots-{name}",
            trust=trust,
            peers=peers_of(name),
        )
    a, b = sites["a"], sites["b"]
    now = [T0]

    def do(*requests, data=(), seconds=0, partition=0):
        """A batch at site a, and all that follows from it at all sites."""
        if seconds:
            now[0] += round(seconds * 1000)
            a.now = b.now = sites["c"].now = now[0]
            a.tick(now[0], caught_up=True)
        found = a.replies(list(requests), list(data), partition, now[0])
        found += sites.settle()["a"]
        for reply in found:
            if reply.get("status") == "error" or "error" in reply:
                print("  refused:", json.dumps(reply)[:200])
        return found

    # -- what is created --

    params = {
        "ams": {"epsilon": 0.3, "delta": 0.1},
        "bloom": {"capacity": 200},
        "chain_sample": {"k": 5, "window": 50},
        "coreset": {"size": 12},
        "count_min": {"epsilon": 0.05, "delta": 0.05},
        "count_min_conservative": {"epsilon": 0.05, "delta": 0.05},
        "dft": {"window": 20, "basic_window": 5, "coefficients": 4, "max_lag": 5},
        "fm": {"bitmaps": 32},
        "frequent_items": {"epsilon": 0.1},
        "histogram": {"low": 0, "high": 200, "buckets": 20},
        "hyperloglog": {"lg_k": 6},
        "log_histogram": {"relative_error": 0.1, "smallest": 0.01, "largest": 10_000},
        "lossy_counting": {"epsilon": 0.1},
        "lsh": {"window": 20, "basic_window": 5, "bits": 64},
        "moments": {},
        "quantiles": {"k": 16},
        "sample": {"k": 8},
        "sticky_sampling": {"epsilon": 0.1, "support": 0.2},
        "theta": {"lg_k": 5},
        "top_k": {"k": 3},
        "trajectory": {"min_period": 5, "capacity": 10},
    }
    assert params.keys() == KINDS.keys()
    windows = [
        ("dataset", {"type": "tumbling", "size": "10s", "time": "t", "keep": "1m"}),
        (
            "stream",
            {"type": "sliding", "size": "20s", "slide": "5s", "lateness": "5s", "keep": "1m"},
        ),
        ("stream", {"type": "session", "gap": "3s", "time": "t", "keep": "2m"}),
        ("dataset", {"type": "session", "gap": "3s", "time": "t", "keep": "2m"}),
        ("stream", {"type": "tumbling", "size": 25}),
        ({"stream": "s1"}, {"type": "sliding", "size": 20, "slide": 5}),
        ("dataset", {"type": "tumbling", "size": "10s", "time": "arrival", "keep": "1m"}),
        (
            {"stream": "s2"},
            {
                "type": "sliding",
                "size": "10s",
                "slide": "2s",
                "time": "iso",
                "format": "iso",
                "skew": "1d",
                "keep": "30s",
            },
        ),
    ]

    def create(uid, kind, **fields):
        cls = KINDS[kind]
        told = {"id": f"c-{uid}", "op": "create", "uid": uid, "dataset": "d", "kind": kind}
        told["params"] = params[kind]
        if cls.reads & {"keys", "texts"}:
            told["key"] = "k"
        if kind == "coreset":
            told["value"] = ["x", "y"]
        elif kind == "trajectory":
            told["value"] = ["lat", "lon", "course", "speed"]
        elif "values" in cls.reads:
            told["value"] = "w" if "key" in told else "v"
        if kind in ("dft", "lsh", "trajectory"):
            told["time"] = "t"
        return {**told, **fields}

    mergeable = [kind for kind in sorted(KINDS) if KINDS[kind].mergeable]
    with_others = [k for k in sorted(KINDS) if any(q.others for q in KINDS[k].questions.values())]
    creates = [
        create(f"plain-{k}", k, scope="dataset" if k in mergeable else "stream")
        for k in sorted(KINDS)
    ]
    creates += [create(f"each-{k}", k, scope="stream") for k in mergeable]
    creates += [create(f"one-{k}", k, scope={"stream": "s1"}) for k in sorted(KINDS)]
    for number, kind in enumerate(mergeable):
        scope, window = windows[number % len(windows)]
        creates.append(create(f"window-{kind}", kind, scope=scope, window=window))
    for number, (scope, window) in enumerate(windows):
        creates.append(create(f"cm-{number}", "count_min", scope=scope, window=window))
    creates += [create(f"twin-{k}", k, key="k2") for k in with_others]
    counted = {"type": "sliding", "size": 20, "slide": 5}
    creates.append(create("dft-counted", "dft", scope="stream", window=counted, time=""))
    creates.append(create("lsh-own-time", "lsh", scope="stream", time=""))
    creates.append(create("weighted", "sample", params={"k": 4, "weighted": True}))
    smallest = {"k": 3, "by": "value", "smallest": True}
    creates.append(create("lowest", "top_k", params=smallest))
    creates.append(create("iso-times", "trajectory", scope="stream", time="iso"))
    for one in creates:
        if one.get("time") == "":
            del one["time"]
    definitions = {one["uid"]: one for one in creates}

    rng = np.random.default_rng(2024)
    walk = {stream: 50.0 + 10 * n for n, stream in enumerate(STREAMS)}

    def rows(start, seconds, streams=STREAMS):
        found = []
        for second in range(seconds):
            common = float(rng.normal())
            for n, stream in enumerate(streams):
                moment = start + second * 1000 + 37 * n
                walk[stream] = round(walk[stream] + (common if n < 3 else float(rng.normal())), 3)
                key = int(rng.zipf(1.5)) % 40
                iso = np.datetime64(moment, "ms").astype(str)
                values = {
                    "k": key if key % 2 else f"key {key}",
                    "k2": int(rng.integers(0, 30)),
                    "w": round(float(rng.exponential(3)), 2),
                    "v": walk[stream],
                    "t": moment if n % 2 else moment / 1000,
                    "iso": f"{iso}Z",
                    "x": round(float(rng.normal(5 * (n % 2))), 3),
                    "y": round(float(rng.normal()), 3),
                    "lat": round(37 + second * 0.001 + n * 0.1, 6),
                    "lon": round(23 + second * 0.002, 6),
                    "course": (second * 7 + n) % 360,
                    "speed": round(5 + (second % 6) * 0.7, 1),
                }
                told = {"dataset": "d", "stream": stream, "time": moment, "values": values}
                found.append(told)
        return found

    def spoilt(start):
        """Tuples that are late, ahead of time, without a value or with a wrong one."""
        made = rows(start, 1)
        made[0]["values"]["t"] = start - 300_000
        made[0]["time"] = start - 300_000
        made[1]["values"]["t"] = start + 86_400_000 * 3
        del made[2]["values"]["v"], made[2]["values"]["w"]
        made[3]["values"]["v"] = "no number"
        made[4]["values"] = {}
        return made

    def watch(name, uid, query, **fields):
        target = {"uids": uid} if isinstance(uid, list) else {"uid": uid}
        return {"id": name, "op": "watch", **target, "query": query, **fields}

    def infore(number, uid, param, **fields):
        return {
            "requestID": number,
            "dataSetkey": "d",
            "uid": uid,
            "streamID": "s1",
            "param": param,
            "noOfP": 2,
            **fields,
        }

    def plugged(name, source, **fields):
        request = plugin_request(name, source, **fields)
        signature = author.sign(signed_bytes(name, request["sha256"]))
        return request | {"key": public, "signature": base64.b64encode(signature).decode()}

    # -- the questions --

    arguments = {
        "key": "key 2",
        "share": 0.1,
        "q": 0.5,
        "value": 60,
        "points": "1, 50, 60.5",
        "support": 0.2,
        "k": 2,
        "threshold": 0.7,
        "a": "s0",
        "b": "s1",
        "stream": "s0",
        "buckets": 4,
        "n": 2,
        "limit": 3,
    }

    def asked(uid, kind, **fields):
        """Every question to a synopsis that another is not needed for."""
        for name, question in KINDS[kind].questions.items():
            if question.others:
                continue
            given = {p.name: arguments[p.name] for p in question.arguments if p.name in arguments}
            yield {"op": "estimate", "uid": uid, "query": {"type": name, **given}, **fields}

    def questions(mark):
        found = []
        ended = T0 + 70_000
        for uid, definition in definitions.items():
            kind, scope = definition["kind"], definition.get("scope", "dataset")
            short = list(itertools.islice(asked(uid, kind), 1))
            if scope == "stream":
                for one in asked(uid, kind):
                    if KINDS[kind].questions[one["query"]["type"]].across:
                        found.append(one)
                    else:
                        streams = ("s0", "s3") if not uid.startswith("each") else ("s3",)
                        found += [{**one, "stream": stream} for stream in streams]
            elif uid.startswith("plain"):
                found += asked(uid, kind)
            else:
                found += short
            window = definition.get("window")
            if window and isinstance(window.get("size", ""), str) and kind in mergeable:
                at = {} if scope != "stream" else {"stream": "s2"}
                if window["type"] != "session":
                    found += [{**one, **at, "end": T0 + 60_000} for one in short]
                    found += [{**one, **at, "from": T0 + 40_000, "to": ended} for one in short]
        for kind in with_others:
            for name, question in KINDS[kind].questions.items():
                if question.others:
                    both = [f"plain-{kind}", f"twin-{kind}"]
                    found.append({"op": "estimate", "uids": both, "query": {"type": name}})
        others = ["reused", "again", "imported", "replaced", "idle", "ttl-later", "1110", "1111"]
        others += ["1112", "1113", "total-all", "total-each", "total-window", "total-2", "touched"]
        others += ["fed-cm", "fed-hll", "restored-window", "1120", "total-again", "unknown"]
        frequencies = ("reused", "imported", "replaced", "fed-cm", "1110", "1111")
        for uid in others:
            about = {"op": "estimate", "uid": uid, "query": {}}
            if uid in (*frequencies, "restored-window", "1120"):
                about["query"] = {"type": "frequency", "key": "key 2"}
            if uid in ("idle", "total-each", "restored-window", "again", "1113", "total-again"):
                about["stream"] = "s1"
            found.append(about)
        uids = [*definitions, *others]
        found += [{"op": "describe", "uid": uid} for uid in uids]
        found += [{"op": "list"}, {"op": "list", "dataset": "fed"}, {"op": "snapshots"}]
        found += [{"op": "plugins"}, {"op": "snapshots", "uid": "plain-quantiles"}]
        found += [{"op": "export", "uid": "plain-hyperloglog", "format": "datasketches"}]
        found += [{"op": "export", "uid": f"plain-{kind}"} for kind in mergeable]
        found += [{"op": "export", "uid": "each-theta", "stream": "s4"}]
        return [{"id": f"{mark}-{n}", **one} for n, one in enumerate(found)]

    # -- the scenario --

    do(*creates)
    do(
        plugged("total", TOTAL, id="p-total"),
        plugged("raises", touchy("raises"), id="p-raises"),
        {**plugin_request("total", TOTAL, id="p-unsigned")},
    )
    do(
        create("reused", "count_min", reuse=True),
        create("reused-2", "count_min", reuse=True),
        create("idle", "moments", scope="stream", idle="30s"),
        create("ttl-gone", "count_min", ttl="5s"),
        create("ttl-later", "hyperloglog", ttl="150s"),
        create("ttl-last", "hyperloglog", ttl="1d"),
        create("deleted", "count_min"),
        create("imported", "count_min"),
        create("replaced", "count_min"),
        {**create("refused", "count_min"), "id": "bad-kind", "kind": "no such kind"},
        {**create("refused", "count_min"), "id": "bad-scope", "kind": "dft"},
        infore(1, 1110, ["k", "null", "Queryable", "0.05", "0.95", "4"], synopsisID=1),
        infore(5, 1111, ["k", "w", "Continuous", "0.05", "0.95", "4"], synopsisID=1),
        infore(5, 1112, ["k", "k", "Continuous", "0.1"], synopsisID=7),
        infore(
            5, 1113, ["x", "lat", "Continuous", "5", "100", "1", "5"], synopsisID=12, streamID="s1"
        ),
    )
    sums = {"dataset": "d", "op": "create", "kind": "total", "value": "w"}
    do(
        {**sums, "id": "c-total-all", "uid": "total-all", "params": {"factor": 2}},
        {**sums, "id": "c-total-each", "uid": "total-each", "scope": "stream"},
        {**sums, "id": "c-total-window", "uid": "total-window", "window": windows[0][1]},
        {**sums, "id": "c-touched", "uid": "touched", "dataset": "p", "kind": "raises"},
    )
    total = {"type": "total"}
    do(
        watch("w-every", "plain-count_min", total, every="5s"),
        watch("w-every-when", "plain-count_min", total, every="5s", when=">= 300"),
        watch("w-change", "plain-count_min", total, on="change", threshold=50),
        watch("w-share", "plain-moments", {"type": "count"}, on="change", threshold="10%"),
        watch("w-any", "each-moments", {"type": "mean"}, on="change", stream="s3"),
        watch("w-close", "cm-0", total, on="close"),
        watch("w-close-session", "cm-2", total, on="close", stream="s1"),
        watch("w-close-arrival", "cm-6", total, on="close"),
        watch("w-close-when", "cm-0", total, on="close", when="> 100"),
        watch("w-when", "plain-count_min", total, on="change", when=">= 400"),
        watch("w-each-key", "plain-count_min", {"type": "frequency"}, on="change", each="key"),
        watch("w-each-stream", "each-moments", {"type": "count"}, on="change", each="stream"),
        watch("w-pairs", "plain-dft", {"type": "pairs", "threshold": 0.7}, every="10s"),
        watch("w-join", ["plain-ams", "twin-ams"], {"type": "join_size"}, on="change"),
        watch("w-plugin", "total-all", {}, on="change"),
        watch("w-unwatched", "plain-count_min", total, every="1s"),
        watch("w-of-deleted", "deleted", total, every="1s"),
        watch("w-refused", "plain-count_min", {"type": "mode"}, every="1s"),
    )
    do(data=rows(T0, 8), seconds=1)
    do(data=rows(T0 + 8_000, 6), seconds=7, partition=1)
    do({"id": "u-1", "op": "unwatch", "watch": "w-unwatched"})
    do(
        {"id": "x-1", "op": "delete", "uid": "deleted"},
        {"id": "x-2", "op": "delete", "uid": "reused-2"},
    )
    do(data=rows(T0 + 14_000, 6), seconds=6)
    poison = [{"dataset": "p", "stream": s, "values": {"w": w}} for s, w in (("s0", 5), ("s1", 77))]
    do(data=poison)
    do(data=spoilt(T0 + 20_000), seconds=1)
    (exported,) = do({"id": "e-1", "op": "export", "uid": "plain-count_min"})
    do(
        {"id": "i-1", "op": "import", "uid": "imported", "state": exported["value"], "tuples": 9},
        {
            "id": "i-2",
            "op": "import",
            "uid": "replaced",
            "state": exported["value"],
            "mode": "replace",
        },
        {"id": "i-3", "op": "import", "uid": "plain-fm", "state": exported["value"]},
    )
    do({"id": "n-1", "op": "snapshot", "uid": "plain-quantiles"})
    do(data=rows(T0 + 32_000, 5), seconds=12)  # after a pause: sessions end
    do(
        {"id": "n-2", "op": "snapshot", "uid": "plain-quantiles"},
        {"id": "n-3", "op": "snapshot", "uid": "each-hyperloglog", "version": "first"},
        {"id": "n-4", "op": "snapshot", "uid": "cm-1", "version": "panes"},
        {"id": "n-5", "op": "snapshot", "uid": "total-each", "version": "v1"},
        {"id": "n-6", "op": "snapshot", "uid": "plain-dft", "version": "kept"},
        {"id": "n-7", "op": "snapshot", "uid": "cm-5"},
        infore(100, 1110, []),
    )
    do(
        {"id": "r-1", "op": "restore", "uid": "each-hyperloglog", "as": "again"},
        {"id": "r-2", "op": "restore", "uid": "plain-quantiles", "version": "1"},
        {"id": "r-3", "op": "restore", "uid": "cm-1", "version": "panes", "as": "restored-window"},
        {"id": "r-4", "op": "restore", "uid": "cm-1", "version": "no-such"},
        infore(202, 1110, ["0", "1120"]),
    )
    # Several sites.
    fed = {"op": "create", "dataset": "fed", "key": "k", "sites": "*"}
    do({**fed, "id": "f-1", "uid": "fed-cm", "kind": "count_min", "params": params["count_min"]})
    do({**fed, "id": "f-2", "uid": "fed-hll", "kind": "hyperloglog", "params": {"lg_k": 6}})

    def feed(count, *names):
        for name in names:
            told = [
                {"dataset": "fed", "stream": f"s{n % 3}", "values": {"k": f"{name}{n % 11}"}}
                for n in range(count)
            ]
            sites[name].replies(data=told, time=now[0])
        sites.settle()

    def tick_all(seconds):
        """The clock of every site goes on, of a last, with what follows from each."""
        now[0] += round(seconds * 1000)
        found = []
        for name in ("b", "c", "a"):
            if name not in sites.cut:
                sites[name].now = now[0]
                told = sites[name].tick(now[0], caught_up=True).replies(time=now[0])
                found += (told if name == "a" else []) + sites.settle()["a"]
        return found

    feed(20, "a", "b", "c")
    (reply,) = do({"id": "f-3", "op": "estimate", "uid": "fed-cm", "query": total, "sites": "*"})
    assert (reply["value"], reply["complete"]) == (60, True), reply
    # What any site asks: b stands for the other side.
    do(watch("w-sites", "fed-cm", total, every="2s", sites="*"))
    do(watch("w-cardinality", "fed-hll", {"type": "cardinality"}, every="2s", sites=["a", "b"]))
    do(watch("w-drift", "fed-cm", total, every="2s", sites="*", drift=30))
    tick_all(2)
    feed(30, "a", "b", "c")
    tick_all(2)
    do({"id": "s-1", "op": "sites"})
    sites.cut = {"c"}
    early = {"op": "estimate", "uid": "fed-cm", "query": total, "sites": "*", "deadline": "60s"}
    do({"id": "fly-0", **early})  # waits in the snapshot, those that follow in the log
    for _ in range(12):
        tick_all(0.1)
        do({"id": f"x-0-{_}", "op": "delete", "uid": "no such uid"})
        b.replies([{"id": f"x-0-{_}", "op": "delete", "uid": "no such uid"}], time=now[0])
    assert all(x.head["end_chunk"] > 0 for x in a.backings + b.backings), "no snapshot yet"

    # From here on the log grows: both its readers and those of the snapshot have work.
    a.most_entries, b.most_entries = [10**9] * 2, [10**9]
    while a.backings[0].head["copied_at"] or a.backings[1].head["copied_at"]:
        do()
    while b.backings[0].head["copied_at"]:
        b.replies(time=now[0])
    tick_all(2)
    do(data=rows(T0 + 50_000, 4), seconds=6)
    do(
        create("late", "frequent_items", scope="stream", window=windows[1][1]),
        create("late-again", "frequent_items", scope="stream", window=windows[1][1], reuse=True),
        watch("w-late", "plain-moments", {"type": "sum"}, every="5s"),
        plugged("total", TOTAL.replace("* self.factor", "* 3 * self.factor"), id="p-total-2"),
        data=rows(T0 + 54_000, 3),
    )
    definitions["late"] = {"uid": "late", "kind": "frequent_items", "scope": "stream"}
    do({**sums, "id": "c-total-2", "uid": "total-2"})
    do(
        {"id": "n-8", "op": "snapshot", "uid": "cm-3"},
        {"id": "r-5", "op": "restore", "uid": "plain-quantiles", "version": "2"},
        {"id": "r-6", "op": "restore", "uid": "total-each", "as": "total-again"},
        {
            "id": "i-4",
            "op": "import",
            "uid": "imported",
            "state": exported["value"],
            "mode": "merge",
        },
        infore(7, 1110, ["k", "null", "Queryable", "0.1", "0.9", "4"], synopsisID=1),
        {"id": "x-3", "op": "delete", "uid": "late-again"},
        {"id": "x-4", "op": "delete", "uid": "no such uid"},
        data=[*rows(T0 + 57_000, 3), *spoilt(T0 + 60_000)],
    )
    tick_all(4)
    feed(7, "b")
    tick_all(2)
    feed(4, "a", "b")
    do(
        {
            "id": "fly-1",
            "op": "estimate",
            "uid": "fed-cm",
            "query": total,
            "sites": "*",
            "deadline": "60s",
        }
    )
    do(
        {
            "id": "fly-2",
            "op": "estimate",
            "uid": "fed-cm",
            "query": total,
            "sites": "*",
            "deadline": "5s",
        }
    )
    do(
        {
            **fed,
            "id": "fly-3",
            "uid": "fed-new",
            "kind": "fm",
            "params": params["fm"],
            "deadline": "40s",
        }
    )
    a.most_entries = [10**9, 1]  # the second shard is in the middle of a snapshot
    durable._CHUNK_BYTES = 1
    do(seconds=1)
    do(seconds=1, data=rows(T0 + 62_000, 2))
    a.most_entries = [10**9] * 2
    # One plug-in is examined, and one window is about to close: that is still under way.
    now[0] += 1000
    a.now = now[0]
    a.tick(now[0], caught_up=True)
    waiting = plugged("raises", touchy("quits").replace('"quits"', '"raises"'), id="p-waits")
    a.replies([waiting], rows(T0 + 66_000, 2), 0, now[0])
    assert a.union, "nothing is under way"

    # -- what is kept --

    for number, backing in enumerate(a.backings):
        head = backing.head
        print("shard", number, {n: v for n, v in head.items() if v})
        assert head["end_chunk"] > head["first_chunk"]
        assert head["next_entry"] - head["first_entry"] > 5
    assert a.backings[1].head["copied_at"] is not None
    assert b.backings[0].head["end_chunk"]
    assert b.backings[0].head["next_entry"]
    kept = {}
    for name in ("a", "b"):
        kept[name] = work / f"kept-{name}"
        kept[name].mkdir()
        sites[name].save(kept[name])
        if (work / f"snapshots-{name}").exists():
            shutil.copytree(work / f"snapshots-{name}", kept[name] / "snapshots")
        sites[name].recorded = []

    # -- and what came after it --

    sites.settle()
    do(*questions("q1"))
    b.replies([{"id": "b-1", "op": "list"}, {"id": "b-2", "op": "describe", "uid": "fed-cm"}])
    again = [one for one in creates if one["uid"].startswith(("plain", "cm"))]
    do(
        *again,
        {**create("refused", "count_min"), "id": "bad-kind", "kind": "no such kind"},
        create("ttl-gone", "count_min", ttl="5s"),
        {"id": "n-1", "op": "snapshot", "uid": "plain-quantiles"},
        {"id": "r-1", "op": "restore", "uid": "each-hyperloglog", "as": "again"},
        {"id": "r-4", "op": "restore", "uid": "cm-1", "version": "no-such"},
        {"id": "x-1", "op": "delete", "uid": "deleted"},
        {"id": "i-4", "op": "import", "uid": "imported", "state": exported["value"]},
        watch("w-every", "plain-count_min", total, every="5s"),
        plugged("total", TOTAL, id="p-total"),
        plugged("raises", touchy("raises"), id="p-raises"),
        {
            "id": "new-plain",
            "op": "create",
            "uid": "plain-fm",
            "dataset": "d",
            "kind": "bloom",
            "key": "k",
        },
        infore(1, 1110, ["k", "null", "Queryable", "0.1", "0.9", "4"], synopsisID=1),
        infore(3, 1110, ["key 2"], synopsisID=1),
        infore(3, 1112, [], synopsisID=7),
        infore(1000, 0, []),
        infore(301, 1110, []),
    )
    tick_all(2)
    do(data=rows(T0 + 70_000, 8), seconds=4)
    do(data=rows(T0 + 78_000, 6), seconds=6)
    feed(9, "a", "b")
    tick_all(2)
    sites.cut = set()
    sites.settle()
    tick_all(2)
    feed(40, "a", "b", "c")
    tick_all(2)
    do({"id": "f-4", "op": "estimate", "uid": "fed-cm", "query": total, "sites": "*"})
    do({"id": "s-2", "op": "sites"})
    do(*questions("q2"))
    do(
        {"id": "n-10", "op": "snapshot", "uid": "plain-quantiles"},
        {"id": "n-11", "op": "snapshot", "uid": "cm-5"},
        {"id": "r-10", "op": "restore", "uid": "plain-quantiles", "version": "1", "as": "first-q"},
        {"id": "r-11", "op": "restore", "uid": "cm-1", "version": "panes"},
        {"id": "r-12", "op": "restore", "uid": "plain-dft", "version": "kept"},
        {"id": "r-13", "op": "restore", "uid": "total-each", "version": "v1"},
        infore(201, 1120, ["0"]),
        {**sums, "id": "c-total-3", "uid": "total-3"},
        {**sums, "id": "c-total-4", "uid": "total-4", "kind": "total@1", "params": {"factor": 5}},
        {"id": "z-1", "op": "unplug", "name": "raises"},
        {"id": "x-10", "op": "delete", "uid": "plain-count_min"},
        {"id": "x-11", "op": "delete", "uid": "each-fm"},
        {"id": "u-10", "op": "unwatch", "watch": "w-sites"},
        {"id": "u-11", "op": "unwatch", "watch": "w-close"},
        create("newest", "count_min", scope="stream", window=windows[2][1]),
        data=rows(T0 + 84_000, 6),
    )
    do(data=rows(T0 + 100_000, 6, STREAMS[1:]), seconds=40)
    do(data=rows(T0 + 160_000, 6, STREAMS[1:]), seconds=60)
    tick_all(2)
    do({"id": "x-12", "op": "delete", "uid": "fed-cm", "sites": "*"})
    do({**questions("q3")[0], "uid": "first-q"}, *questions("q3"))
    b.replies([{"id": "b-3", "op": "list"}, {"id": "b-4", "op": "describe", "uid": "fed-hll"}])
    for name in ("a", "b"):
        steps = sites[name].recorded
        print(name, len(steps), "batches,", sum(len(s["replies"]) for s in steps), "replies")
        (kept[name] / "steps.json").write_text(json.dumps(steps))
        packed(kept[name], f"{name}.tar.xz")
    shutil.rmtree(work)


# -- the checkpoint of Spark ----------------------------------------------------------------------

ROLES = ("requests", "output", "dead_letters", "union", "commits", "outbound")
VOLATILE = ("id", "request", "batch")


def forex(start, seconds):
    """Tuples of five streams; the same whenever it is called."""
    return [
        (
            f"s{n}",
            {"k": f"key {(7 * second + n) % 13}", "v": (31 * second + 17 * n) % 101 / 4},
            T0 + 1000 * (start + second) + n,
        )
        for second in range(seconds)
        for n in range(5)
    ]


def created():
    tumbling = {"type": "tumbling", "size": "10s", "keep": "10m"}
    sliding = {"type": "sliding", "size": "20s", "slide": "5s", "keep": "10m"}
    session = {"type": "session", "gap": "3s", "keep": "10m"}
    counted = {"type": "tumbling", "size": 5}
    made = [
        ("plain", "count_min", {"key": "k", "params": {"epsilon": 0.05}}),
        ("each", "hyperloglog", {"key": "k", "scope": "stream", "params": {"lg_k": 6}}),
        ("one", "moments", {"value": "v", "scope": {"stream": "s1"}}),
        ("median", "quantiles", {"value": "v", "params": {"k": 16}}),
        ("top", "top_k", {"key": "k", "value": "v", "params": {"k": 3}}),
        ("records", "sample", {"key": "k", "value": "v", "params": {"k": 5}}),
        (
            "waves",
            "dft",
            {
                "value": "v",
                "scope": "stream",
                "params": {"window": 20, "basic_window": 5, "coefficients": 4},
            },
        ),
        ("tumbling", "count_min", {"key": "k", "window": tumbling, "params": {"epsilon": 0.05}}),
        ("sliding", "moments", {"value": "v", "window": sliding, "scope": "stream"}),
        ("session", "moments", {"value": "v", "window": session, "scope": "stream"}),
        ("counted", "moments", {"value": "v", "window": counted, "scope": "stream"}),
        ("sums", "total", {"value": "v"}),
        ("lasting", "bloom", {"key": "k", "ttl": "3650d", "params": {"capacity": 100}}),
    ]
    return [
        {"op": "create", "id": f"c-{uid}", "uid": uid, "dataset": "d", "kind": kind, **fields}
        for uid, kind, fields in made
    ]


def asked():
    def ask(uid, kind, **fields):
        query = {n: fields.pop(n) for n in ("key", "q") if n in fields}
        return {"op": "estimate", "uid": uid, "query": {"type": kind, **query}, **fields}

    return [
        ask("plain", "frequency", key="key 3"),
        ask("plain", "total"),
        ask("each", "cardinality", stream="s0"),
        ask("each", "cardinality", stream="s2"),
        ask("one", "summary"),
        ask("median", "quantile", q=0.5),
        ask("top", "top"),
        ask("records", "sample"),
        ask("waves", "spectrum", stream="s1"),
        ask("waves", "pairs"),
        ask("tumbling", "total"),
        ask("tumbling", "total", end=T0 + 20_000),
        ask("sliding", "mean", stream="s1"),
        ask("sliding", "summary", stream="s2", end=T0 + 25_000),
        ask("session", "count", stream="s0"),
        ask("counted", "sum", stream="s0"),
        ask("sums", "total"),
        ask("lasting", "contains", key="key 3"),
        ask("again", "quantile", q=0.25),
        *({"op": "describe", "uid": uid} for uid in ("plain", "each", "sliding", "sums", "again")),
        {"op": "list"},
        {"op": "snapshots"},
        {"op": "plugins"},
        {"op": "export", "uid": "plain"},
        {"op": "export", "uid": "each", "stream": "s1"},
    ]


def answers(sde, requests):
    """The replies, without what every reply has of its own."""
    pending = [sde.submit(r["op"], **{n: v for n, v in r.items() if n != "op"}) for r in requests]
    replies = [one.result() for one in pending]
    return [{n: v for n, v in reply.items() if n not in VOLATILE} for reply in replies]


def watched(sde, watch, count):
    """The next answers of a watch, as number and value."""
    return [[a.number, a.value] for a in itertools.islice(sde.watching(watch, timeout=120), count)]


def spark() -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from plugin_sources import TOTAL, plugin_request
    from sde.messages.plugins import signed_bytes

    from clients import Client, KafkaTransport
    from clients.engine_process import EngineProcess
    from clients.transport import Topics

    author = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    public = base64.b64encode(author.public_key().public_bytes_raw()).decode()
    work = Path(tempfile.mkdtemp())
    code = with_small_logs(work / "code")
    os.environ["PYTHONPATH"] = str(code)
    os.chdir(code)
    folder, kept = work / "data", work / "kept"
    config = "\n".join(
        [
            'site = "golden"',
            "shards = 2",
            "cores = 2",
            f'plugin_keys = ["{public}"]',
            "[limits]",
            "plugin_seconds = 60",
            f"plugin_bytes = {256 << 20}",
            "[topics]",
            'data = ["golden-data"]',
            "data_partitions = 1",
            *(f'{role} = "golden-{role}"' for role in ROLES),
        ]
    )
    (work / "sde.toml").write_text(config + "\n")
    engine = EngineProcess(folder, "--config", str(work / "sde.toml"), say=print)

    def client():
        named = [f"golden-{role}" for role in ("requests", "data", "output", "dead_letters")]
        return Client(KafkaTransport(engine.bootstrap_servers, topics=Topics(*named)), timeout=120)

    plugin = plugin_request("total", TOTAL, key=public)
    signature = author.sign(signed_bytes("total", plugin["sha256"]))
    plugin["signature"] = base64.b64encode(signature).decode()
    total = {"type": "total"}
    watches = [
        {"id": "w-every", "op": "watch", "uid": "plain", "query": total, "every": "2s"},
        {"id": "w-change", "op": "watch", "uid": "plain", "query": total, "on": "change"},
        {"id": "w-close", "op": "watch", "uid": "tumbling", "query": total, "on": "close"},
    ]
    with engine, client() as sde:
        first = answers(sde, [plugin])
        first += answers(sde, [*created(), *watches])
        changes = sde.watching("w-change", timeout=120)
        for start in range(0, 32, 2):  # many batches: snapshots are taken, logs begin anew
            sde.send_many("d", forex(start, 2))
            next(changes)
        answers(sde, [{"op": "snapshot", "id": "n-1", "uid": "median"}])
        answers(sde, [{"op": "snapshot", "id": "n-2", "uid": "sliding", "version": "v1"}])
        answers(sde, [{"op": "restore", "id": "r-1", "uid": "median", "as": "again"}])
        sde.send_many("d", forex(32, 3))
        change = next(changes).number
        every = watched(sde, "w-every", 2)[-1]
    shutil.copytree(folder / "checkpoint", kept / "checkpoint")
    shutil.copytree(folder / "snapshots", kept / "snapshots")
    for path in (kept / "checkpoint").glob("state/*/_metadata/v2/[0-9]*"):
        path.write_text(path.read_text().replace(f"file:{folder}/", "file:/kept/"))
        path.with_name(f".{path.name}.crc").unlink()
    (kept / "sde.toml").write_text(config + "\n")
    (kept / "topics.json").write_text(json.dumps(left_to_read(folder)))
    with engine, client() as sde:
        found = {
            "questions": asked(),
            "answers": answers(sde, asked()),
            "repeats": [plugin, *created(), *watches],
            "outcomes": first,
            "last": {"w-every": every, "w-change": change},
        }
        assert answers(sde, found["repeats"]) == first
        changes, closes = (sde.watching(w, timeout=120) for w in ("w-change", "w-close"))
        further = forex(35, 8)
        sde.send_many("d", further)
        found["further"] = further
        found["changed"] = [[a.number, a.value] for a in [next(changes)]]
        found["closed"] = [[a.number, a.value] for a in [next(closes)]]
        found["further_answers"] = answers(sde, asked())
    (kept / "answers.json").write_text(json.dumps(found))
    print({name: len(json.dumps(value)) for name, value in found.items()}, found["last"])
    print(found["changed"], found["closed"])
    for path in sorted(kept.rglob("*")):
        if path.is_file():
            print(path.stat().st_size, path.relative_to(kept))
    packed(kept, "spark.tar.xz")
    os.chdir("/")
    shutil.rmtree(work)


def with_small_logs(folder: Path) -> Path:
    """The code of this checkout, but that a few entries of a log are enough for a snapshot."""
    shutil.copytree(Path.cwd(), folder, ignore=shutil.ignore_patterns(".git", "tests", "bench"))
    path = folder / "sde" / "durable.py"
    text = path.read_text()
    assert "\n_MOST_ENTRIES = 500 " in text
    path.write_text(text.replace("\n_MOST_ENTRIES = 500 ", "\n_MOST_ENTRIES = 10 "))
    return folder


def left_to_read(folder: Path) -> dict:
    """Of the topics that are read: how far the checkpoint is, and what lies behind that."""
    from confluent_kafka import Consumer, TopicPartition

    from service.broker import EmbeddedBroker

    last = max((folder / "checkpoint" / "commits").glob("[0-9]*"), key=lambda p: int(p.name))
    lines = (folder / "checkpoint" / "offsets" / last.name).read_text().splitlines()
    offsets = {}
    for line in lines[2:]:
        offsets |= json.loads(line)
    found = {}
    with EmbeddedBroker(folder / "broker") as broker:
        reader = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "golden"})
        for topic, partitions in offsets.items():
            for partition, offset in partitions.items():
                place = TopicPartition(topic, int(partition), offset)
                _, end = reader.get_watermark_offsets(place, 30)
                reader.assign([place])
                rest, idle = [], 0
                while idle < 3:
                    message = reader.poll(1)
                    idle += message is None
                    if message is not None and message.error() is None:
                        rest.append(base64.b64encode(message.value()).decode())
                found.setdefault(topic, {})[partition] = {"offset": offset, "rest": rest}
                print(topic, partition, "read to", offset, "of", end, "rest", len(rest))
        reader.close()
    return found


if __name__ == "__main__":
    {"durable": durable_form, "spark": spark}[sys.argv[1]]()
