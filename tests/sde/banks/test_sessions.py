"""Sessions that have closed stay closed."""

import pytest
from wire_messages import create

from sde.testing import LocalEngine

T0 = 1_700_000_000_000
BASE = T0 + (-T0) % 10_000  # where a cell of ten seconds begins


def row(seconds, stream="s"):
    time = BASE + round(1000 * seconds)
    return {"dataset": "d", "stream": stream, "time": time, "values": {"k": "a"}}


def run(engine, *rows):
    """The sessions that close: from, to and tuples, in seconds."""
    replies = [*engine.replies(data=list(rows), time=T0), *engine.settle()]
    return [
        (
            (r["window"]["start"] - BASE) / 1000,
            (r["window"]["end"] - BASE) / 1000,
            r["tuples"],
        )
        for r in replies
        if r["request"] == "watch" and "value" in r
    ]


def started(scope, lateness=0):
    engine = LocalEngine(shards=1)
    window = {"type": "session", "gap": "10s", "lateness": f"{lateness}s"}
    asked = {"stream": "s"} if scope == "stream" else {}
    watch = {"id": "watch", "op": "watch", "uid": "w", "on": "close", "query": {"type": "total"}}
    engine.run([create("w", scope=scope, window=window), {**watch, **asked}])
    return engine


def counts(engine):
    told = engine.ask(op="describe", uid="w")["value"]
    return told["late"], told["late_dropped"]


@pytest.mark.parametrize("scope", [{"stream": "s"}, "stream"], ids=["named", "each"])
@pytest.mark.parametrize("lateness", [0, 5])
def test_a_late_tuple_does_not_open_a_session_again_that_has_closed(scope, lateness):
    engine = started(scope, lateness)
    assert run(engine, row(1), row(9)) == []
    assert run(engine, row(19.5 + lateness, "other")) == [(1, 19, 2)]
    assert run(engine, row(12)) == []
    assert run(engine, row(30 + lateness, "other")) == []
    assert counts(engine) == (0, 1)


def test_a_tuple_after_the_end_of_a_closed_session_begins_another():
    engine = started({"stream": "s"})
    run(engine, row(1), row(9))
    assert run(engine, row(19.5, "other")) == [(1, 19, 2)]
    run(engine, row(19.2))
    assert run(engine, row(30, "other")) == [(19.2, 29.2, 1)]
    assert counts(engine) == (0, 0)


def test_a_session_that_is_still_open_takes_late_tuples():
    engine = started({"stream": "s"})
    run(engine, row(1), row(9), row(15))
    assert run(engine, row(19.5, "other")) == []
    run(engine, row(12))
    assert run(engine, row(30, "other")) == [(1, 25, 4)]


def test_tuples_of_a_closed_session_and_of_an_open_one_are_told_apart():
    engine = started({"stream": "s"})
    run(engine, row(1), row(4))
    assert run(engine, row(16, "other")) == [(1, 14, 2)]
    run(engine, row(15.5))
    run(engine, row(12), row(15.8))
    assert run(engine, row(40, "other")) == [(15.5, 25.8, 2)]
    assert counts(engine) == (0, 1)


@pytest.mark.parametrize("shards", [1, 3])
def test_sessions_may_begin_where_the_clock_has_been_already(shards):
    """A window that came earlier has moved the clock of the data set on."""
    engine = LocalEngine(shards=shards)
    window = {"type": "tumbling", "size": "10s", "lateness": "1ms"}
    engine.run([create("earlier", "hyperloglog", window=window)])
    run(engine, row(0), row(15))
    session = {"type": "session", "gap": "10s", "lateness": "1ms"}
    engine.run([create("w", scope="stream", window=session)])
    run(engine, row(12), row(13))
    asked = engine.ask(op="estimate", uid="w", stream="s", query={"type": "total"})
    assert (asked["status"], asked["value"]) == ("ok", 2.0)
