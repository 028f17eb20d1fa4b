"""Partials on their way from maintain to merge."""

import pytest

from sde.records.asked import Asked
from sde.records.partial import Reply, Subject, bundle, unbundle
from sde.records.position import Position
from sde.records.result import Part, States
from sde.wire import Ask

STATE = bytes(range(256)) * 40


def partial(n, *parts):
    position = Position("r", 0, n)
    asked = Asked(position=position, time=5, request=Ask(id=f"q{n}", uid="u"))
    states = States(tuples=[n], parts=[Part(part) for part in parts])
    return Reply(subject=Subject.of(position), shard=1, of=4, batch=7, asked=asked, result=states)


@pytest.mark.parametrize(
    "partials",
    [
        [],
        [partial(1)],
        [partial(1, b""), partial(2, b"", b"")],
        [partial(1, STATE), partial(2, STATE, b"x" + STATE[1:]), partial(3, b"", STATE)],
    ],
)
def test_they_come_as_they_went(partials):
    assert unbundle(bundle(partials)) == partials


def test_the_states_of_many_questions_about_one_synopsis_travel_once():
    one, many = (bundle(partial(n, bytes(bytearray(STATE))) for n in range(k)) for k in (1, 20))
    assert len(many) - len(one) < len(STATE)
