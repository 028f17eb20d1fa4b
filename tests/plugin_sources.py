"""Plug-ins for tests, as source text: one that behaves, and one for each way of not doing so."""

import hashlib

TOTAL = '''
import numpy as np

from synopses import BankedSynopsis, Estimate, parameter, question


class Total(BankedSynopsis):
    """The sum of the values, times a factor."""

    kind = "total"
    reads = frozenset({"values"})
    linear = True
    guarantee = "exact"
    factor: float = parameter(1.0, above=0, doc="what the sum is multiplied with")

    def layout(self):
        return {"sum": (np.float64, ())}

    def add_slots(self, arrays, slots, items):
        np.add.at(arrays["sum"], slots, items.values)

    @question
    def total(self) -> Estimate:
        """The sum."""
        return Estimate(float(self.arrays["sum"][0]) * self.factor)
'''

_TOUCHY = '''
import os
import struct

from synopses import Estimate, StateError, Synopsis, question


class Touchy(Synopsis):
    """Sums values up, until it meets 77."""

    kind = "KIND"
    reads = frozenset({"values"})
    guarantee = "exact, as long as it lasts"
    memory = 8

    def _prepare(self):
        self._sum, self._touched = 0.0, False

    def _add(self, items):
        if (items.values == 77).any():
            self._touched = True
            MISBEHAVE
        self._sum += float(items.values.sum())

    def _merge(self, other):
        self._sum += other._sum

    def _payload(self):
        return PAYLOAD

    def _load(self, payload):
        if len(payload) != 8:
            raise StateError(f"{len(payload)} bytes, expected 8")
        (self._sum,) = struct.unpack("<d", payload)

    @question
    def total(self) -> Estimate:
        """The sum."""
        return ANSWER
'''

_PAYLOAD, _ANSWER = 'struct.pack("<d", self._sum)', "Estimate(self._sum)"
# name: what it does on 77, its payload, its answer, and what the reason must say
WAYS = {
    "raises": ("raise KeyError('no such thing')", _PAYLOAD, _ANSWER, "no such thing"),
    "loops": ("while True: pass", _PAYLOAD, _ANSWER, "took more than"),
    "allocates": ("hoard = bytearray(257 << 20)", _PAYLOAD, _ANSWER, "MemoryError"),
    "hoards": (
        "hoard = []\n            while True: hoard.append(bytearray(1 << 24))",
        _PAYLOAD,
        _ANSWER,
        "MemoryError",
    ),
    "exits": ("os._exit(3)", _PAYLOAD, _ANSWER, "exit code 3"),
    "quits": ("raise SystemExit(0)", _PAYLOAD, _ANSWER, "SystemExit"),
    "forks": ("os.fork()", _PAYLOAD, _ANSWER, "os.fork is not allowed"),
    "deaf": ("os.closerange(3, 1 << 20)", _PAYLOAD, _ANSWER, "its process ended"),
    "shrinks": (
        "import sys; os.ftruncate(int(sys.argv[2]), 0)",
        _PAYLOAD,
        _ANSWER,
        "not permitted",
    ),
    "babbles": ("pass", f"{_PAYLOAD} if not self._touched else 77", _ANSWER, "TypeError"),
    "grows": (
        "pass",
        f"{_PAYLOAD} if not self._touched else bytes(70)",
        _ANSWER,
        "a synopsis takes 70 bytes, and declared 8",
    ),
    "crossed": (
        "pass",
        _PAYLOAD,
        "Estimate(self._sum) if self._sum != 77 else Estimate(1.0, 3.0, 2.0)",
        "expected lower <= value <= upper",
    ),
    "silent": ("pass", _PAYLOAD, "Estimate(self._sum) if self._sum != 77 else 'yes'", "Estimate"),
}


def touchy(way):
    misbehave, payload, answer, _ = WAYS[way]
    text = _TOUCHY.replace("MISBEHAVE", misbehave).replace("PAYLOAD", payload)
    return text.replace("ANSWER", answer).replace("KIND", way)


def plugin_request(name, source, **fields):
    return {
        "id": f"p-{name}",
        "op": "plugin",
        "name": name,
        "source": source,
        "sha256": hashlib.sha256(source.encode()).hexdigest(),
        **fields,
    }
