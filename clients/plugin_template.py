"""What `sde plugin new` writes: a kind that works, and a test of it."""

from __future__ import annotations

from string import Template

_PLUGIN = Template('''\
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

_TEST = Template('''\
"""Run by pytest: what every kind must obey, and what this one is for."""

import pytest
from synopses import Items
from synopses.laws import laws

from $name import $cls


@pytest.mark.parametrize("law", list(laws()), ids=lambda law: law.__name__)
def test_it_obeys_every_law(law):
    law($cls)


def test_values_above_the_limit_are_counted():
    counted = $cls(limit=2)
    counted.add(Items.of(values=[1, 2, 3, 4]))
    assert counted.above().value == 2
''')


def new_files(name: str) -> dict[str, str]:
    """The files of a new plug-in: their names and what is in them."""
    words = {"name": name, "cls": "".join(word.capitalize() for word in name.split("_"))}
    return {
        f"{name}.py": _PLUGIN.substitute(words),
        f"test_{name}.py": _TEST.substitute(words),
    }
