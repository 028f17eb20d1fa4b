"""Partials on their way from maintain to merge."""

import pytest

from sde.records.arrived import Arrived
from sde.records.partial import Partial, bundle, unbundle

STATE = bytes(range(256)) * 40


def partial(n, *parts):
    return Partial(Arrived(f"r-{n}", 5, {"id": f"q{n}"}), 1, 4, 7, {"tuples": [n]}, list(parts))


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
