import os
import subprocess
import sys

import numpy as np
import pytest

from synopses import (
    KINDS,
    BankedSynopsis,
    CountMin,
    Estimate,
    Items,
    Moments,
    StateError,
    from_bytes,
    laws,
    question,
)
from synopses.laws import LawError, check, damaged_bytes_are_refused, forged_payloads_do_no_harm

FINGERPRINTS = """
import warnings
warnings.simplefilter("ignore")
from synopses import KINDS
from synopses.laws import fingerprint, forged_payloads_do_no_harm
for kind, cls in KINDS.items():
    print(kind, fingerprint(cls))
    if {forge}:
        forged_payloads_do_no_harm(cls, cases=15)
"""


@pytest.mark.parametrize("law", list(laws.laws()), ids=lambda law: law.__name__)
@pytest.mark.parametrize("cls", KINDS.values(), ids=KINDS.keys())
def test_every_kind_obeys_every_law(cls, law):
    law(cls)


@pytest.mark.parametrize("cls", KINDS.values(), ids=KINDS.keys())
def test_ten_thousand_damaged_states_are_refused(cls):
    damaged_bytes_are_refused(cls, cases=10_000)


@pytest.mark.parametrize("cls", KINDS.values(), ids=KINDS.keys())
def test_a_thousand_forged_payloads_do_no_harm(cls):
    forged_payloads_do_no_harm(cls, cases=1_000)


def _fingerprints(environment: dict[str, str], forge: bool) -> str:
    # Without the JIT an index out of bounds in a kernel is an exception instead of a crash.
    script = FINGERPRINTS.format(forge=forge)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_bytes_are_the_same_in_another_process_and_without_the_jit():
    here = "".join(f"{kind} {laws.fingerprint(cls)}\n" for kind, cls in KINDS.items())
    assert _fingerprints({"PYTHONHASHSEED": "1"}, forge=False) == here
    assert _fingerprints({"NUMBA_DISABLE_JIT": "1", "PYTHONHASHSEED": "2"}, forge=True) == here


def test_bytes_say_what_kind_they_hold():
    sketch = CountMin.example()
    assert type(from_bytes(sketch.to_bytes())) is CountMin
    with pytest.raises(StateError, match="count_min"):
        KINDS["bloom"].from_bytes(sketch.to_bytes())


class Forgetful(CountMin):
    """A kind that breaks a law."""

    kind = "forgetful"

    def _merge(self, other):
        pass


class Talkative(CountMin):
    """A kind that counts its batches."""

    kind = "talkative"

    def add_slots(self, arrays, slots, items):
        super().add_slots(arrays, slots, items)
        arrays["total"] += 1


@pytest.mark.parametrize(
    ("cls", "law"),
    [(Forgetful, "merging_parts_gives_the_whole"), (Talkative, "batches_do_not_matter")],
)
def test_a_broken_law_is_named(cls, law):
    with pytest.raises(LawError, match=f"{cls.__name__} breaks {law}"):
        check(cls)


class Counter(BankedSynopsis):
    """Counts items, and states no bounds."""

    kind = "counter"
    guarantee = "exact"

    def layout(self):
        return {"count": (np.int64, ())}

    def add_slots(self, arrays, slots, items):
        np.add.at(arrays["count"], slots, 1)

    @question
    def count(self) -> Estimate:
        """How many items came."""
        return Estimate(int(self.arrays["count"][0]))


class LargestCounter(Counter):
    """Takes the larger part for the whole."""

    def _merge(self, other):
        for name, array in self.arrays.items():
            np.maximum(array, other.arrays[name], out=array)


class LinearCounter(Counter):
    """Says what makes the default right."""

    linear = True


class AddingCounter(Counter):
    """Is not linear, and merges by itself."""

    def _merge(self, other):
        self.arrays["count"] += other.arrays["count"]


class UnsureCounter(LargestCounter):
    """Says how far its answer may be off."""

    @question
    def count(self) -> Estimate:
        """How many items came."""
        count = int(self.arrays["count"][0])
        return Estimate(count, count, 1_000)


class Undeclared(LinearCounter):
    """Adds up values without saying that it reads them."""

    def add_slots(self, arrays, slots, items):
        np.add.at(arrays["count"], slots, items.values.astype(np.int64))


class Unasked(LinearCounter):
    """The same, where it finds some."""

    def add_slots(self, arrays, slots, items):
        weights = items.values.astype(np.int64) if len(items.values) else 1
        np.add.at(arrays["count"], slots, weights)


@pytest.mark.parametrize("cls", [Undeclared, Unasked])
def test_a_column_that_is_read_and_not_declared_is_noticed(cls):
    with pytest.raises(LawError, match=r"reads_no_more.* not in `reads` \(keys\): name it there"):
        check(cls)


def test_an_answer_without_bounds_is_the_same_of_merged_parts():
    with pytest.raises(LawError, match=r"count: of the parts .* and 1000 differ"):
        laws.merging_parts_gives_the_whole(LargestCounter)
    for cls in (LinearCounter, AddingCounter, UnsureCounter):
        laws.merging_parts_gives_the_whole(cls)


def test_a_class_that_is_not_linear_writes_how_it_merges():
    with pytest.raises(LawError, match=r"it is not linear.* write _merge\(self, other\)"):
        laws.merging_parts_gives_the_whole(Counter)


def test_non_finite_values_do_not_touch_the_state():
    sketch = CountMin()
    sketch.add(Items.of(["a", "b", "c"], values=np.array([np.nan, np.inf, -np.inf])))
    assert sketch.to_bytes() == CountMin().to_bytes()


class FloatTotal(CountMin):
    """A kind that adds floats up and says that their order does not matter."""

    kind = "float_total"

    def layout(self):
        return {"sum": (np.float64, ())}

    def add_slots(self, arrays, slots, items):
        np.add.at(arrays["sum"], slots, items.values)


def test_a_kind_that_adds_floats_up_is_not_order_free():
    with pytest.raises(LawError, match="FloatTotal breaks order_does_not_matter"):
        laws.order_does_not_matter(FloatTotal)
    with pytest.raises(LawError, match="FloatTotal breaks the_way_of_merging_does_not_matter"):
        laws.the_way_of_merging_does_not_matter(FloatTotal)


def _shuffled(cls, parts):
    """The bytes of shuffled items, in parts that are merged, and those of the items in order."""
    items, rng = cls.example_items(np.random.default_rng(1), 1_000), np.random.default_rng(2)
    straight, other = cls.example(), cls.example()
    straight.add(items)
    for rows in np.array_split(rng.permutation(len(items)), parts):
        part = cls.example() if parts > 1 else other
        part.add(items.take(rows))
        if part is not other:
            other.merge(part)
    return other.to_bytes(), straight.to_bytes()


@pytest.mark.parametrize("cls", KINDS.values(), ids=KINDS.keys())
def test_a_kind_is_declared_order_free_exactly_if_it_is(cls):
    for parts in (1, 5) if cls.mergeable else (1,):
        shuffled, straight = _shuffled(cls, parts)
        assert (shuffled == straight) is cls.order_free


@pytest.mark.parametrize("cls", KINDS.values(), ids=KINDS.keys())
def test_a_digest_tells_states_parameters_and_kinds_apart(cls):
    empty, filled = cls.example(), cls.example()
    filled.add(cls.example_items(np.random.default_rng(1), 200))
    assert filled.digest() == cls.from_bytes(filled.to_bytes()).digest() != empty.digest()
    assert len(filled.digest()) == 16
    others = {other.example().digest() for other in KINDS.values()}
    assert len(others) == len(KINDS)


def test_states_that_differ_are_told_where():
    class Total(Moments):
        """Keeps what the last merge brought."""

        kind = "total"

        def _merge(self, other):
            for name, array in other.arrays.items():
                self.arrays[name][:] = array

    with pytest.raises(LawError, match=r"the bytes differ: .* of array '\w+', the first at"):
        check(Total)
