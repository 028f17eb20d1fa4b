"""What `sde plugin new` writes: a kind that works, and a test of it."""

from __future__ import annotations

from string import Template

_BANKED = Template('''\
"""$name: how many values are above a limit."""

import numpy as np
from synopses import BankedSynopsis, Estimate, parameter, question


class $cls(BankedSynopsis):
    """Counts the values that are above a limit."""

    kind = "$name"
    linear = order_free = True
    reads = frozenset({"values"})
    guarantee = "exact"

    limit: float = parameter(5.0, doc="values above it are counted")

    def layout(self):
        return {"above": (np.int64, ())}

    def add_slots(self, arrays, slots, items):
        np.add.at(arrays["above"], slots, items.values > self.limit)

    @question
    def above(self):
        """How many values were above the limit."""
        return Estimate(int(self.arrays["above"][0]))
''')

_FREE = Template('''\
"""$name: the largest values."""

import numpy as np
from synopses import Estimate, StateError, Synopsis, parameter, question


class $cls(Synopsis):
    """Keeps the largest values, as many as it is told."""

    kind = "$name"
    order_free = True
    reads = frozenset({"values"})
    guarantee = "exact"

    most: int = parameter(10, least=1, most=10_000, doc="how many values are kept")

    def _prepare(self):
        self._values = np.empty(0)

    def _keep(self, values):
        both = np.append(self._values, values) + 0.0  # makes 0.0 of -0.0
        self._values = np.sort(both)[::-1][: self.most]

    def _add(self, items):
        self._keep(items.values)

    def _merge(self, other):
        self._keep(other._values)

    def _payload(self):
        return self._values.tobytes()

    def _load(self, payload):
        if len(payload) % 8 or len(payload) > self.memory:
            raise StateError(f"{len(payload)} bytes, expected up to {self.memory}")
        self._values = np.frombuffer(payload)
        if not (np.isfinite(self._values).all() and (np.diff(self._values) <= 0).all()):
            raise StateError("expected finite values, the largest first")

    @property
    def memory(self):
        return 8 * self.most

    @question
    def largest(self):
        """The largest values, the largest first."""
        return Estimate(self._values.tolist())
''')

_TEST = Template('''\
"""Run by pytest: what every kind must obey, and what this one is for."""

import pytest
from synopses import Items
from synopses.laws import laws

from $name import $cls


@pytest.mark.parametrize("law", list(laws()), ids=lambda law: law.__name__)
def test_it_obeys_every_law(law):
    law($cls)


$own_test
''')

_BANKED_OWN_TEST = Template("""\
def test_values_above_the_limit_are_counted():
    counted = $cls(limit=2)
    counted.add(Items.of(values=[1, 2, 3, 4]))
    assert counted.above().value == 2""")

_FREE_OWN_TEST = Template("""\
def test_the_largest_values_are_kept():
    largest = $cls(most=2)
    largest.add(Items.of(values=[3, 1, 4, 2]))
    assert largest.largest().value == [4, 3]""")


def new_files(name: str, *, free: bool = False) -> dict[str, str]:
    """The files of a new plug-in: their names and what is in them.

    `free`: its state is an object, and not arrays.
    """
    words = {"name": name, "cls": "".join(word.capitalize() for word in name.split("_"))}
    plugin, own_test = (_FREE, _FREE_OWN_TEST) if free else (_BANKED, _BANKED_OWN_TEST)
    test = _TEST.substitute(words, own_test=own_test.substitute(words))
    return {f"{name}.py": plugin.substitute(words), f"test_{name}.py": test}
