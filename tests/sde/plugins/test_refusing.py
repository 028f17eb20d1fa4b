"""A plug-in may refuse what came from outside; elsewhere the errors of refusals are failures."""

import base64

import pytest
from plugin_sources import TOTAL, plugin_request, touchy
from wire_messages import create, tuples

from sde.limits import StateLimits
from sde.testing import LocalEngine
from synopses import CountMin, Items

pytestmark = pytest.mark.usefixtures("quick_examination")

DATA = tuples("d", [(f"s{i % 7}", {"k": i % 10, "v": i % 50}) for i in range(1_000)])
LIMITS = StateLimits(plugin_seconds=60, plugin_bytes=256 << 20)


def engine_with(source):
    engine = LocalEngine(limits=LIMITS)
    engine.run([plugin_request("total", source)])
    assert engine.settle()[0]["status"] == "ok"
    return engine


def create_total(uid, **fields):
    return create(uid, kind="total", key=None, value="v", **fields)


ERRORS = {
    "StateError": "StateError('odd')",
    "MergeError": "MergeError('odd')",
    "QueryError": "QueryError('odd', 77, 'another')",
    "ParameterError": "ParameterError('odd', 77, 'another')",
    "LawError": "LawError('odd')",
}
BANKED = TOTAL.replace('np.add.at(arrays["sum"]', 'MISBEHAVE\n        np.add.at(arrays["sum"]')


def import_line(error):
    return f"from synopses{'.laws' if error == 'LawError' else ''} import {error}"


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("form", ["add", "add_slots"])
def test_an_error_of_the_library_raised_while_adding_quarantines_and_the_batch_goes_on(form, error):
    source = touchy("raises").replace("KeyError('no such thing')", ERRORS[error])
    source = source.replace('"raises"', '"total"')
    if form == "add_slots":
        misbehave = f"if 77 in items.values:\n            raise {ERRORS[error]}"
        source = BANKED.replace("MISBEHAVE", misbehave)
    engine = engine_with(source=f"{import_line(error)}\n{source}")
    engine.run([create_total("bad"), create("good")], DATA)
    poison = tuples("d", [("s1", {"k": 3, "v": 77})])
    engine.run([], poison)
    engine.settle()
    engine.run([], DATA)
    described = engine.ask(op="describe", uid="bad")["value"]
    assert described["state"] == "quarantined"
    assert f"{form} failed" in described["reason"]
    assert "odd" in described["reason"]
    exact = CountMin()
    exact.add(Items.of([row["values"]["k"] for row in [*DATA, *poison, *DATA]]))
    assert base64.b64decode(engine.ask(op="export", uid="good")["value"]) == exact.to_bytes()


def unmergeable(error):
    """A plug-in that merges whole sums only."""
    misbehave = f"if (self._sum + other._sum) % 1:\n            raise {ERRORS[error]}"
    merged = "self._sum += other._sum"
    source = touchy("raises").replace('"raises"', '"total"')
    return f"{import_line(error)}\n" + source.replace(merged, f"{misbehave}\n        {merged}")


@pytest.mark.parametrize("error", ["MergeError", "StateError"])
def test_states_of_the_engine_that_the_plug_in_will_not_merge_quarantine_it(error):
    engine = engine_with(source=unmergeable(error))
    engine.run([create_total("all"), create("good")])
    rows = [("s1", {"k": 3, "v": 0.5}), *((f"t{i}", {"k": 3, "v": 1}) for i in range(9))]
    engine.send("d", rows)
    answer = engine.ask(op="estimate", id="e", uid="all", query={})
    assert answer["code"] == "quarantined"
    assert "odd" in answer["message"]
    assert engine.ask(op="estimate", id="g", uid="good", query={"key": 3})["value"] == len(rows)


def test_a_state_from_outside_that_the_plug_in_will_not_merge_is_refused_and_no_more():
    engine = engine_with(source=unmergeable("MergeError"))
    engine.run([create_total(f"of {stream}", scope={"stream": stream}) for stream in "ab"])
    engine.send("d", [("a", {"v": 0.5}), ("b", {"v": 3})])
    state = engine.ask(op="export", uid="of a")["value"]
    refused = engine.ask(op="import", uid="of b", state=state, tuples=1)
    assert refused["code"] == "not_mergeable"
    assert "odd" in refused["message"]
    assert engine.ask(op="estimate", id="e", uid="of b", query={})["value"] == 3
