"""Sources by request: records of others become tuples, as a mapping says."""

import json
from dataclasses import replace
from datetime import datetime

import pytest

from sde.decoding import Pieces
from sde.decoding.headers import packed_headers
from sde.decoding.preview import preview
from sde.stages.maintain import replay
from sde.testing import LocalEngine
from sde.testing.messages import messages
from sde.wire import decode_request
from sde.wire.sources import Preview

TRADES = {
    "op": "source",
    "name": "trades",
    "topic": "trades",
    "dataset": "Trades",
    "stream": "symbol",
    "time": "ts",
    "fields": {"trader": "trader.id", "notional": "px * qty"},
    "where": "venue == 'X' and qty > 0",
}


def trade(i, **others):
    return {
        "symbol": ["AAPL", "MSFT", "IBM"][i % 3],
        "px": 100 + i / 4,
        "qty": i % 7,
        "ts": f"2026-11-17T10:{i % 60:02d}:00Z",
        "venue": "XYZ"[i % 3 if i % 5 == 0 else 0],
        "trader": {"id": f"t{i % 11}"},
        **others,
    }


def as_tuples(records):
    """What the mapping says, in plain Python, in our own envelope."""
    kept = [r for r in records if r["venue"] == "X" and r["qty"] > 0]
    return [
        {
            "dataset": "Trades",
            "stream": r["symbol"],
            "time": round(datetime.fromisoformat(r["ts"]).timestamp() * 1000),
            "values": {"trader": r["trader"]["id"], "notional": r["px"] * r["qty"]},
        }
        for r in kept
    ]


CREATES = [
    {"uid": "traders", "kind": "hyperloglog", "key": "trader", "scope": "stream"},
    {"uid": "pairs", "kind": "count_min", "key": "trader", "value": "notional"},
    {"uid": "notionals", "kind": "quantiles", "value": "notional"},
    {
        "uid": "recent",
        "kind": "moments",
        "value": "notional",
        "window": {"size": "5m", "lateness": "1h", "keep": "2h"},
    },
]


def states(engine):
    exported = {}
    for create in CREATES:
        stream = {"stream": "AAPL"} if create.get("scope") == "stream" else {}
        span = {"from": 0, "to": 2**50} if "window" in create else {}
        reply = engine.ask(op="export", uid=create["uid"], **stream, **span)
        assert reply["status"] == "ok", reply
        exported[create["uid"]] = reply["value"], reply["tuples"]
    return exported


def engine_with_synopses():
    engine = LocalEngine()
    for create in CREATES:
        reply = engine.ask(op="create", id=create["uid"], dataset="Trades", **create)
        assert reply["status"] == "ok", reply
    return engine


def test_records_through_a_mapping_give_the_states_of_the_same_tuples_in_our_envelope():
    records = [trade(i) for i in range(500)]
    mapped = engine_with_synopses()
    assert mapped.ask(id="s", **TRADES)["status"] == "ok"
    mapped.send_records("trades", records)
    ours = engine_with_synopses()
    ours.replies(data=as_tuples(records))
    assert states(mapped) == states(ours)
    assert mapped.letters == []


def test_records_that_do_not_fit_are_dead_letters_with_reason_and_source():
    engine = engine_with_synopses()
    engine.ask(id="s", **TRADES)
    engine.send_records(
        "trades",
        [trade(1), trade(1, symbol=None), trade(1, ts="soon"), b"{no json", trade(1, symbol="")],
    )
    found = [
        (each["source"], each["topic"], each["offset"], each["code"]) for each in engine.letters
    ]
    assert found == [
        ("trades", "trades", 1, "bad_tuple"),
        ("trades", "trades", 2, "bad_tuple"),
        ("trades", "trades", 3, "bad_json"),
        ("trades", "trades", 4, "bad_tuple"),
    ]
    assert "time='soon'" in engine.letters[1]["message"]
    assert engine.ask(op="describe", uid="notionals")["value"]["tuples"] == 1


BAD = [b"{no json", trade(1, symbol=None), trade(1, ts="soon")]


def dead_letters(engine):
    return {each["name"]: each["dead_letters"] for each in engine.ask(op="sources")["value"]}


def restarted(engine):
    """Shards that are made from the log alone."""
    other = LocalEngine(shards=len(engine.stores))
    for number, entries in enumerate(engine.entries):
        shard = other.shard(number)
        for entry in entries:
            replay(shard, entry)
    return other


def test_dead_letters_are_counted_by_source_also_after_a_replay_of_the_log():
    engine = LocalEngine()
    engine.ask(id="s", **TRADES)
    engine.ask(id="t", **{**TRADES, "name": "others"})
    engine.send_records("trades", [trade(1)])
    assert dead_letters(engine) == {"trades": 0, "others": 0}
    engine.send_records("trades", [trade(1), *BAD])
    engine.send_records("trades", BAD[:1])
    engine.send_records("others", BAD[1:])
    assert dead_letters(engine) == {"trades": 4, "others": 2}
    assert len(engine.letters) == 6
    assert dead_letters(restarted(engine)) == {"trades": 4, "others": 2}


def test_lines_that_get_no_letter_of_their_own_are_counted_too():
    engine = LocalEngine()
    engine.ask(id="s", **{**TRADES, "format": "lines"})
    engine.send_records("trades", [b"{\n" * 1_500, b"{\n" * 10])
    assert len(engine.letters) == 1_001 + 10
    assert engine.letters[1_000]["lines"] == 500
    assert dead_letters(engine) == {"trades": 1_510}


def test_dead_letters_are_counted_anew_when_a_mapping_is_changed():
    engine = LocalEngine()
    engine.ask(id="s", **TRADES)
    engine.send_records("trades", BAD)
    planned = engine.sources
    engine.ask(id="s2", **{**TRADES, "where": "qty > 5"})
    assert dead_letters(engine) == {"trades": 0}
    changed, engine.sources = engine.sources, planned
    engine.send_records("trades", BAD)  # a batch that was planned with the mapping before
    assert dead_letters(engine) == {"trades": 0}
    engine.sources = changed
    engine.send_records("trades", BAD[:1])
    assert dead_letters(engine) == {"trades": 1}
    engine.ask(op="unsource", id="u", name="trades")
    engine.ask(id="s3", **TRADES)
    assert dead_letters(engine) == {"trades": 0}


def test_counts_of_sources_that_are_gone_do_not_pile_up():
    engine = LocalEngine()
    for i in range(5):
        engine.ask(id=f"s{i}", **{**TRADES, "name": f"trades{i}"})
        engine.send_records(f"trades{i}", BAD)
        engine.ask(op="unsource", id=f"u{i}", name=f"trades{i}")
    assert len(list(engine.shard(0).beside["source_counts"].facts())) == 1


def test_without_fields_every_leaf_is_a_field_under_its_path():
    engine = LocalEngine()
    engine.ask(op="create", id="c", uid="ids", dataset="T", kind="hyperloglog", key="trader.id")
    engine.ask(op="source", id="s", name="all", topic="t", dataset="T", stream="'one stream'")
    engine.send_records("all", [trade(i) for i in range(50)])
    assert engine.ask(op="estimate", uid="ids")["value"] == pytest.approx(11, abs=0.5)


def test_a_source_is_listed_changed_and_removed():
    engine = LocalEngine()
    engine.ask(id="s", **TRADES)
    (listed,) = engine.ask(op="sources")["value"]
    assert listed["where"] == TRADES["where"]
    assert engine.sources.version == 1
    engine.ask(id="s2", **TRADES)  # the same again changes nothing
    assert engine.sources.version == 1
    engine.ask(id="s3", **{**TRADES, "where": "qty > 5"})
    assert engine.sources.version == 2
    assert engine.sources.find("trades").since == 1  # it goes on where it is
    engine.ask(id="s4", **TRADES, **{"from": "earliest"})
    assert engine.sources.find("trades").since == 3
    assert engine.ask(op="unsource", id="u", name="trades")["status"] == "ok"
    assert engine.ask(op="sources")["value"] == []
    assert engine.ask(op="unsource", id="u2", name="trades")["code"] == "unknown_source"


def test_a_repeated_request_changes_nothing():
    engine = LocalEngine()
    engine.ask(id="s", **TRADES)
    engine.ask(op="unsource", id="u", name="trades")
    engine.ask(id="s", **TRADES)
    assert engine.ask(op="sources")["value"] == []


def test_sources_survive_a_replay_of_the_log():
    engine = LocalEngine()
    engine.ask(id="s", **TRADES)
    shard = engine.shard(1)
    assert shard.registry.sources.current.find("trades").source.dataset == "Trades"
    facts = list(shard.registry.facts())
    again = type(shard.registry)(engine.limits)
    for fact in json.loads(json.dumps(facts)):
        again.apply(fact)
    assert again.sources.current == shard.registry.sources.current


class Seen:
    """Topics that there are; None: nobody tells."""

    def __init__(self, names):
        self._names = names

    def names(self):
        return self._names

    def last_messages(self, request):
        return [messages([trade(1), b"{no json"], request.topic)]


@pytest.mark.parametrize(
    ("topic", "there", "warning"),
    [
        ("trades", ["trade", "trades"], None),
        ("trades", ["trade", "trades-1"], "topic 'trades' does not exist yet"),
        ("fx-*", ["fx-1", "trades"], None),
        ("fx-*", ["fx", "trades"], "no topic fits 'fx-*' yet"),
        ("*", ["__consumer_offsets"], "no topic fits '*' yet"),
        ("trades", None, None),
    ],
)
def test_a_source_whose_topic_is_not_there_is_taken_with_a_warning(topic, there, warning):
    seen = Seen(there)
    engine = LocalEngine(topics=seen)
    reply = engine.ask(id="s", **{**TRADES, "topic": topic})
    (listed,) = engine.ask(op="sources")["value"]
    assert reply["status"] == "ok"
    for said in (reply, listed):
        assert [text.partition(":")[0] for text in said.get("warnings", [])] == (
            [warning] if warning else []
        )
    again = engine.ask(id="s", **{**TRADES, "topic": topic})
    assert again.get("warnings") == reply.get("warnings")
    seen._names = [topic]
    (listed,) = engine.ask(op="sources")["value"]
    assert "warnings" not in listed


def test_a_preview_shows_what_a_mapping_makes_of_records_and_counts_nothing():
    engine = LocalEngine(topics=Seen(["trades"]))
    mapping = {name: TRADES[name] for name in ("topic", "dataset", "stream", "fields")}
    seen = engine.ask(op="preview", **mapping)["value"]
    assert (seen["messages"], len(seen["tuples"]), len(seen["dead_letters"])) == (2, 1, 1)
    assert engine.letters == []
    assert LocalEngine().ask(op="preview", **mapping)["code"] == "bad_request"


def test_a_preview_shows_the_last_records_of_every_partition():
    of_partition = [
        replace(messages([trade(i, symbol=f"p{partition}") for i in range(5)]), partition=partition)
        for partition in range(3)
    ]
    mapping = {name: TRADES[name] for name in ("topic", "dataset", "stream")}
    request = decode_request({"op": "preview", "id": "p", "limit": 7, **mapping}, "p")
    ingest = LocalEngine().wiring.ingest()
    seen = preview(of_partition, request, ingest.on_data)
    assert seen["messages"] == 15
    shown = [(one["stream"], one["offset"]) for one in seen["tuples"]]
    first = of_partition[0].offsets[0]
    assert shown == [
        (stream, first + at)
        for stream, places in (("p0", (2, 3, 4)), ("p1", (3, 4)), ("p2", (3, 4)))
        for at in places
    ]


@pytest.mark.parametrize(
    ("wrong", "field", "says"),
    [
        ({"where": "qty >"}, "where", "at character"),
        ({"where": "px * qty"}, "where", "expected"),
        ({"fields": {"n": "powr(px)"}}, "fields.n", "powr"),
        ({"stream": "a..b"}, "stream", "at character"),
        ({"format": "tuples"}, "dataset", "tuples"),
        ({"format": "csv", "each": "items"}, "each", "json"),
        ({"schema": "{}"}, "schema", "avro"),
        ({"topic": "no such?"}, "topic", "topic"),
        ({"from": "yesterday"}, "from", "latest"),
    ],
)
def test_a_wrong_mapping_is_refused_when_it_is_given(wrong, field, says):
    engine = LocalEngine()
    reply = engine.ask(id="s", **{**TRADES, **wrong})
    assert reply["status"] == "error"
    assert reply["field"] == field
    assert says in reply["message"]
    assert engine.sources.version == 0


def test_key_headers_and_place_of_a_message_can_be_fields():
    engine = LocalEngine()
    fetched = replace(
        messages([trade(1), trade(2)], "s/t", 3, 70),
        keys=Pieces.of([b"k1", None]),
        headers=Pieces.of([packed_headers([("site", b"athens")]), packed_headers([])]),
    )
    fields = {name: f"${name}" for name in ("offset", "partition", "timestamp", "topic")}
    mapping = Preview(
        topic="t",
        dataset="T",
        stream="coalesce($key, 'none')",
        fields={**fields, "site": "$headers.site"},
    )
    found = engine.wiring.ingest().on_data(fetched, None, mapping)
    rows = {
        b.streams[int(s)]: {
            n: c.texts()[i] for n, c in b.fields.items() if c.valid is None or c.valid[i]
        }
        for b in found.blocks
        for i, s in enumerate(b.stream_of)
    }
    place = {"partition": "3", "timestamp": "1700000000000", "topic": "t"}
    assert rows == {
        "k1": {**place, "offset": "70", "site": "athens"},
        "none": {**place, "offset": "71"},
    }
