"""Banks: kinds of fixed layout and kinds that are objects behave alike."""

import json

import numpy as np
import pytest
from wire_messages import create, tuples

from sde.banks.bank import ArrayBank, ObjectBank, open_bank
from sde.storage.store import MemoryStore
from sde.testing import LocalEngine
from synopses import KINDS, CountMin, Estimate, Items, StateError, Synopsis, question


class LongestKey(Synopsis):
    """The longest key seen: state of no fixed size, so an object."""

    kind = "longest_key"
    order_free = True
    idempotent = True
    reads = frozenset({"keys", "texts"})

    def _prepare(self):
        self.longest = ""

    def _add(self, items):
        self.longest = max([self.longest, *items.texts], key=lambda t: (len(t), t))

    @question
    def longest_key(self) -> Estimate:
        """The longest key."""
        return Estimate(self.longest)

    def _merge(self, other):
        self.longest = max(self.longest, other.longest, key=lambda t: (len(t), t))

    def _payload(self):
        return json.dumps(self.longest).encode()

    def _load(self, payload):
        try:
            self.longest = json.loads(bytes(payload))
        except ValueError as error:
            raise StateError(str(error)) from None

    @property
    def memory(self):
        return 1000


@pytest.mark.parametrize("template", [CountMin(epsilon=0.1), LongestKey()], ids=repr)
def test_slots_are_independent_reused_empty_and_survive_reopening(template):
    store = MemoryStore()
    bank = open_bank(store, "b", template)
    slots = bank.allocate(3)
    bank.add(np.array([0, 2, 2], np.int32), Items.of(["a", "bb", "c"]))
    bank.skip(np.array([1], np.int32))
    bank.save()
    again = open_bank(store, "b", template)
    assert again.tuples[slots].tolist() == [1, 0, 2]
    assert again.skipped[slots].tolist() == [0, 1, 0]
    expected = type(template)(**template.params)
    expected.add(Items.of(["bb", "c"]))
    assert again.at(2).to_bytes() == expected.to_bytes()
    again.free(np.array([2], np.int32))
    assert again.allocate(2).tolist() == [2, 3]
    assert again.at(2).to_bytes() == type(template)(**template.params).to_bytes()
    assert (again.used, again.live) == (4, 4)


def test_the_form_of_a_bank_follows_the_kind():
    assert isinstance(open_bank(MemoryStore(), "b", CountMin()), ArrayBank)
    assert isinstance(open_bank(MemoryStore(), "b", LongestKey()), ObjectBank)


def test_an_object_kind_works_through_the_engine_like_any_other(monkeypatch):
    monkeypatch.setitem(KINDS, "longest_key", LongestKey)
    engine = LocalEngine()
    rows = [(f"s{i % 7}", {"k": "x" * (i % 23)}) for i in range(200)]
    engine.run(
        [create("u", "longest_key"), create("e", "longest_key", scope="stream")],
        tuples("d", rows),
    )
    assert engine.ask(op="estimate", uid="u")["value"] == "x" * 22
    longest = max(v["k"] for s, v in rows if s == "s3")
    assert engine.ask(op="estimate", uid="e", stream="s3")["value"] == longest
    described = engine.ask(op="describe", uid="e")["value"]
    assert (described["streams"], described["tuples"]) == (7, 200)
    assert described["bytes"] > 0
