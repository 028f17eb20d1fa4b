"""Sources of every format: a synopsis cannot tell in which one its tuples came."""

from functools import cache

import pytest
from exchanging import contents, make
from record_formats import FORMATS, some_tuples
from wire_messages import create

from sde.testing import LocalEngine
from sde.testing.messages import TIME
from synopses import KINDS

WINDOW = {"type": "tumbling", "size": "10s", "lateness": "2m", "keep": "2m"}
BATCHES = 2
TUPLES = some_tuples(192, latest=TIME)


def creates():
    """Every kind of streams, and of all and in windows if it merges; keys of every type."""
    made = []
    for kind, cls in KINDS.items():
        made.append(make(f"{kind} of streams", kind, "stream"))
        if cls.mergeable:
            made.append(make(f"{kind} of all", kind))
            made.append(make(f"{kind} in windows", kind, window=WINDOW))
    keys = ("n", "flag", "v", ["k", "n"])
    return made + [create(f"keys {key}", "frequent_items", key) for key in keys]


CREATES = creates()


def engine_of(mapping, messages, schemas=None):
    """With what these messages of a source with this mapping leave behind."""
    engine = LocalEngine(schemas=None if schemas is None else schemas.__getitem__)
    source = {"id": "s", "op": "source", "name": "those", "topic": "t", **mapping}
    for reply in engine.replies([*CREATES, source]):
        assert reply["status"] == "ok", reply
    size = len(messages) // BATCHES
    for start in range(0, len(messages), size):
        engine.send_records("those", messages[start : start + size])
    assert engine.letters == []
    return engine


@cache
def ours(together, first_line):
    """An engine that got the tuples in our own envelope."""
    form = next(f for f in FORMATS.values() if (f.together, f.first_line) == (together, first_line))
    return engine_of({"format": "tuples"}, form.in_our_envelope(TUPLES))


def test_the_tuples_leave_something_in_every_synopsis():
    engine = ours(1, 0)
    asked = [{"id": c["uid"], "op": "describe", "uid": c["uid"]} for c in CREATES]
    counted = {name: reply["value"]["tuples"] for name, reply in engine.run(asked).items()}
    assert len(counted) == len(CREATES)
    assert all(n > len(TUPLES) / 3 for n in counted.values()), counted


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_through_a_mapping_leaves_the_states_of_our_envelope_to_the_byte(name):
    form = FORMATS[name]
    mapped = engine_of(form.mapping, form.messages(TUPLES), form.schemas)
    assert contents(mapped) == contents(ours(form.together, form.first_line))
