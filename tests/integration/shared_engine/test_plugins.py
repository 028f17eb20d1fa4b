"""Plug-ins on the running engine: added, used, restarted, misbehaving, while others go on."""

import json
import shutil
import time

import pytest
from integration.shared_engine.plugin_keys import AUTHOR, STRANGER, plug_in, public, signed
from plugin_sources import TOTAL, WAYS, touchy

from clients import Refused
from synopses import CountMin, Items
from synopses.examples import geofence
from tests.docs.markdown_pages import ROOT, pages
from tests.docs.test_pages import run

pytestmark = pytest.mark.integration

PAGE = next(p for p in pages() if p.path == ROOT / "docs" / "how-to" / "plug-ins.md")
STREAMS = [f"s{i}" for i in range(5)]
START = 1_700_000_000_000


@pytest.fixture(scope="module")
def folder(engine):
    """Where `sde serve` was called, and where its user made a key as the page on plug-ins says."""
    return engine.process.folder.parent


@pytest.fixture
def sde(engine):
    with engine.client() as client:
        yield client


def send(sde, dataset, numbers):
    for i, number in enumerate(numbers):
        sde.send(
            dataset, STREAMS[i % 5], {"k": i % 11, "v": number, "t": 1_700_000_000_000 + 10 * i}
        )
    sde.flush()


def reaches(sde, uid, count):
    """Wait until so many tuples came to a synopsis."""
    deadline = time.monotonic() + 120
    while (seen := sde.describe(uid).tuples) < count:
        assert time.monotonic() < deadline, f"{seen} of {count} tuples"


def test_a_plug_in_is_added_used_over_shards_windows_and_watches_and_unplugged(sde):
    told = plug_in(sde, "total", TOTAL)
    assert (told["kind"], told["state"], told["key"]) == ("total@1", "active", public(AUTHOR))
    numbers = list(range(1_000))
    whole = sde.create("total", dataset="used", value="v", uid="total whole")
    each = sde.create(
        "total", dataset="used", value="v", uid="total each", scope="stream", factor=2
    )
    window = {"type": "tumbling", "size": "1s", "time": "t", "keep": "1m", "lateness": "1m"}
    windowed = sde.create("total", dataset="used", value="v", uid="total windowed", window=window)
    with sde.watch("total whole", on="change") as answers:
        send(sde, "used", numbers)
        reaches(sde, "total whole", len(numbers))
        assert whole.estimate().value == sum(numbers)
        for answer in answers:
            if answer.value == sum(numbers):
                break
    assert each.estimate(stream="s3").value == 2 * sum(numbers[3::5])
    end = START + 3_000
    assert windowed.estimate(end=end).value == sum(numbers[200:300])
    with pytest.raises(Refused, match="used by 3 synopses"):
        sde.submit("unplug", name="total").result()


def test_a_new_version_takes_over_running_synopses_while_tuples_flow(sde):
    before = sde.estimate("total whole").value
    mended = (
        TOTAL + "\n    @classmethod\n    def migrate(cls, params, state):\n        return state\n"
    )
    added = sde.submit("plugin", **signed("total", mended), migrate=True)
    sent = 0
    while not added.done():
        send(sde, "used", [1.0] * 10)
        sent += 10
    told = added.result()["value"]
    assert (told["kind"], told["moved"]) == ("total@2", 3)
    reaches(sde, "total whole", 1_000 + sent)
    assert sde.describe("total windowed").kind == "total@2"
    assert sde.estimate("total whole").value == before + sent


def test_a_plug_in_that_nothing_uses_any_more_is_unplugged(sde):
    for uid in ("total whole", "total each", "total windowed"):
        sde.delete(uid)
    assert sde.submit("unplug", name="total").result()["value"] == ["total@1", "total@2"]


def test_the_commands_of_the_page_work_with_signatures_as_shown(folder):
    shutil.copy(geofence.__file__, folder)
    commands = next(b.text for b in PAGE.blocks if "sde plugin add geofence.py" in b.text)
    shown = run(folder, "bash", "-euc", commands)
    assert shown.returncode == 0, shown.stderr
    assert "geofence@1 is active" in shown.stdout
    entered = ["--ask", "entered", "polygon=[[23.5,37.9],[23.7,37.9],[23.7,38.0],[23.5,38.0]]"]
    answer = json.loads(run(folder, "sde", "estimate", "fleet", *entered, "--json").stdout)
    (ship,) = answer["value"]
    assert (ship["key"], ship["x"], ship["before"]["x"]) == ("Aura", 23.62, 23.4)


@pytest.mark.parametrize("name", ["unsigned", "strange", "tampered"])
def test_what_nobody_trusted_signed_is_refused(sde, name, engine):
    source = TOTAL.replace('"total"', f'"{name}"')
    request = signed(name, source, STRANGER if name == "strange" else AUTHOR)
    if name == "unsigned":
        del request["key"], request["signature"]
    elif name == "tampered":
        request["source"] = source.replace("self.factor", "0")
    with pytest.raises(Refused) as refused:
        sde.submit("plugin", **request).result()
    assert refused.value.code == "untrusted"


def test_a_key_is_added_without_a_restart(sde, folder):
    keys = folder / "sde-data" / "plugin-keys"
    keys.touch(mode=0o600)
    keys.write_text(f"{public(STRANGER)} a friend by now\n")
    told = plug_in(sde, "strange", TOTAL.replace('"total"', '"strange"'), STRANGER)
    assert (told["kind"], told["key"]) == ("strange@1", public(STRANGER))
    keys.unlink()


def test_a_class_that_breaks_a_law_is_refused_with_its_name(sde):
    wrong = TOTAL.replace("linear = True", "linear = True\n    idempotent = True")
    with pytest.raises(Refused, match="adding_twice_is_adding_once") as refused:
        plug_in(sde, "total", wrong)
    assert refused.value.code == "broken_law"


def test_the_log_has_a_line_for_every_decision(folder):
    author, stranger = public(AUTHOR), public(STRANGER)
    lines = [
        f" taken kind=total version=1 key={author}",
        f" migrated kind=total version=2 key={author}: it took over 3 synopses",
        f" removed kind=total version=1 key={author}",
        f" refused kind=strange version=- key={stranger}: untrusted: ",
        f" taken kind=strange version=1 key={stranger}",
        f" refused kind=total version=- key={author}: broken_law: ",
    ]
    deadline = time.monotonic() + 60
    while missing := [line for line in lines if line not in logged(folder)]:
        assert time.monotonic() < deadline, missing


def logged(folder):
    return (folder / "sde-data" / "logs" / "plugins.log").read_text()


def quarantined(sde, uid):
    """All shards learn of it in the batch after the one that met it."""
    deadline = time.monotonic() + 120
    while (described := sde.submit("describe", uid=uid).result()["value"]).get("state") is None:
        assert time.monotonic() < deadline, f"{uid} is not quarantined"
    assert described["state"] == "quarantined"
    return described


def test_misbehaving_plug_ins_are_quarantined_while_a_count_min_on_the_stream_stays_exact(sde):
    ways = ["raises", "loops", "exits", "hoards", "babbles"]  # all: tests/sde/plugins
    for added in [sde.submit("plugin", **signed(way, touchy(way))) for way in ways]:
        added.result()
    for created in [
        *(sde.submit_create(way, dataset="shared", value="v", uid=f"u-{way}") for way in ways),
        sde.submit_create("count_min", dataset="shared", key="k", uid="steady"),
    ]:
        created.result()
    numbers = [*range(50)] * 20
    send(sde, "shared", numbers)
    reaches(sde, "steady", len(numbers))
    for way, asked in {way: sde.submit_estimate(f"u-{way}") for way in ways}.items():
        assert asked.result().value == sum(numbers), way
    send(sde, "shared", [77] * 5)
    send(sde, "shared", numbers)
    reaches(sde, "steady", 2 * len(numbers) + 5)
    for way in ways:
        described = quarantined(sde, f"u-{way}")
        assert WAYS[way][3] in described["reason"]
    for asked in [sde.submit_estimate(f"u-{way}") for way in ways]:
        with pytest.raises(Refused) as refused:
            asked.result()
        assert refused.value.code == "quarantined"
    assert sde.release_plugin("raises") == ("raises@1",)
    released = sde.estimate("u-raises")
    missed = sde.describe("u-raises").raw["missed"]
    assert released.tuples + missed == 2 * len(numbers) + 5
    assert released.warnings[0].startswith(f"{missed:,} tuples were dropped")
    assert released.value <= 2 * sum(numbers)
    ways.remove("raises")
    listed = {one["name"]: one["state"] for one in sde.submit("plugins").result()["value"]}
    assert {listed[way] for way in ways} == {"quarantined"}
    exact = CountMin()
    exact.add(Items.of([i % 11 for n in (1_000, 5, 1_000) for i in range(n)]))
    assert sde.export("steady") == exact.to_bytes()
