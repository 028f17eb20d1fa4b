"""The one interface every synopsis implements.

A kind is a class. It declares its parameters, its questions and its traits, and is written in
one of two forms:

* `BankedSynopsis`: the state is a few arrays of fixed shape. `add_slots` adds a batch to many
  synopses at once, each item to its slot; a single synopsis is a bank of one slot.
* `Synopsis`: the state is whatever the object holds; it turns itself into bytes and back.
"""

from __future__ import annotations

import abc
import hashlib
import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from synopses.errors import MergeError, ParameterError, QueryError, StateError
from synopses.items import Items
from synopses.parameters import REQUIRED, Parameter, declared_type
from synopses.questions import Estimate, Question, questions_of
from synopses.state import pack, unpack

LARGEST = 256 * 2**20  # bytes of one synopsis

Arrays = dict[str, NDArray[Any]]
Layout = dict[str, tuple[DTypeLike, tuple[int, ...]]]


class Synopsis(abc.ABC):
    """A summary of a stream of items.

    Five traits drive everything generic:

    mergeable     two synopses of disjoint inputs merge into the synopsis of all of it
    linear        the state is arrays and merging adds them: subtraction works too
    order_free    the state depends only on the multiset of items
    idempotent    adding an item twice is adding it once
    sums_weights  of all items with one key only `Items.sums` matter: values are weights, counted in
                  units of 10^-decimals, a parameter; `synopses.fixed_point.weights_of` reads both
    """

    kind: ClassVar[str]
    format: ClassVar[int] = 1
    mergeable: ClassVar[bool] = True
    linear: ClassVar[bool] = False
    order_free: ClassVar[bool] = False
    idempotent: ClassVar[bool] = False
    sums_weights: ClassVar[bool] = False
    reads: ClassVar[frozenset[str]] = frozenset({"keys"})
    guarantee: ClassVar[str] = ""
    value_fields: ClassVar[int | str] = 1  # values of an item, or the parameter that tells
    value_names: ClassVar[tuple[str, ...]] = ()  # what several values are, in their order
    across_arrays: ClassVar[tuple[str, ...]] = ()  # what questions across streams read; () is all
    parameters: ClassVar[dict[str, Parameter]] = {}
    questions: ClassVar[dict[str, Question]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = {n: p for n, p in vars(cls).items() if isinstance(p, Parameter)}
        for name in own:
            delattr(cls, name)
        annotated = vars(cls).get("__annotations__", {})
        declared = {
            name: replace(
                p, name=name, type=declared_type(f"parameter {name}", annotated.get(name))
            )
            for name, p in own.items()
        }
        cls.parameters = {**cls.parameters, **declared}
        cls.questions = questions_of(cls)

    def __init__(self, **params: Any) -> None:
        for name in params:
            if name not in self.parameters:
                expected = ", ".join(self.parameters) or "no parameters"
                raise ParameterError(name, params[name], f"one of these names: {expected}")
        for name, declared in self.parameters.items():
            value = params.get(name, declared.default)
            if value is REQUIRED:
                raise ParameterError(name, None, declared.expected)
            setattr(self, name, declared.check(value))
        self._prepare()
        if self.memory > LARGEST:
            parameters = ", ".join(f"{name}={value!r}" for name, value in self.params.items())
            raise ParameterError(
                "memory", self.memory, f"at most {LARGEST:,} bytes; {parameters} ask for more"
            )

    def _prepare(self) -> None:
        """Check parameters against each other and derive what follows from them."""

    @property
    def params(self) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in self.parameters}
        known = self.parameters.items()
        return {n: values[n] for n, p in known if not p.added or values[n] != p.default}

    # -- the four verbs -----------------------------------------------------------------------

    def add(self, items: Items) -> None:
        """Fold a batch in. Items whose value is read but not finite are left out."""
        if "values" in self.reads:
            finite = items.finite()
            items = items if finite.all() else items.take(np.flatnonzero(finite))
        if len(items):
            self._add(items)

    @abc.abstractmethod
    def _add(self, items: Items) -> None: ...

    def estimate(self, query: Mapping[str, Any] | None = None, *others: Self) -> Estimate:
        """Answer a question, named by `query["type"]` (default: the kind's first question)."""
        question, arguments = self.check_query(query or {}, len(others))
        if question.across:
            raise QueryError("query.type", question.name, "a question about one synopsis")
        for other in others:
            self._require_twin(other)
        return getattr(self, question.name)(*others, **arguments)  # type: ignore[no-any-return]

    @classmethod
    def check_query(
        cls, query: Mapping[str, Any], n_others: int = 0
    ) -> tuple[Question, dict[str, Any]]:
        """The question a query asks and its arguments, or QueryError."""
        name = query.get("type", next(iter(cls.questions)))
        question = cls.questions.get(name) if isinstance(name, str) else None
        if question is None:
            raise QueryError("query.type", name, "one of " + ", ".join(cls.questions))
        fits = {"": n_others == 0, "one": n_others == 1, "many": n_others >= 1}
        if not fits[question.others]:
            wanted = {"": "one synopsis", "one": "two synopses", "many": "two or more synopses"}
            raise QueryError("uids", n_others + 1, wanted[question.others])
        return question, question.bind(query)

    def merge(self, other: Self) -> None:
        """Absorb `other`, which must have the same kind and parameters (seed included)."""
        if other is self:
            raise MergeError("a synopsis cannot be merged into itself")
        if not self.mergeable:
            raise MergeError(f"{self.kind} is not mergeable")
        self._require_twin(other)
        self._merge(other)

    def _require_twin(self, other: Synopsis) -> None:
        if type(other) is not type(self) or other.params != self.params:
            raise MergeError(f"{other!r} and {self!r} differ in kind or parameters")

    @abc.abstractmethod
    def _merge(self, other: Self) -> None: ...

    def to_bytes(self) -> bytes:
        return pack(self.kind, self.format, self.params, self._payload())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        state = unpack(data)
        if (state.kind, state.format) != (cls.kind, cls.format):
            raise StateError(
                f"these bytes hold {state.kind} format {state.format}, "
                f"expected {cls.kind} format {cls.format}"
            )
        try:
            synopsis = cls(**state.params)
        except (ParameterError, TypeError) as error:
            raise StateError(f"{cls.kind}: {error}") from None
        synopsis._load(state.payload)
        return synopsis

    def copy(self) -> Self:
        """The same synopsis again, sharing nothing."""
        return self.from_bytes(self.to_bytes())

    def digest(self) -> str:
        """16 hexadecimal digits, the same wherever kind, parameters and state are the same.

        Of an order-free kind it tells whether two synopses saw the same items, whatever their
        order was and the way their parts were merged: the laws hold the bytes to that.
        """
        return hashlib.blake2b(self.to_bytes(), digest_size=8).hexdigest()

    @abc.abstractmethod
    def _payload(self) -> bytes:
        """The state as bytes, without header; equal states give equal bytes."""

    @abc.abstractmethod
    def _load(self, payload: memoryview) -> None:
        """Take over what `_payload` wrote; StateError if it cannot be that."""

    # -- what is known without data -----------------------------------------------------------

    @property
    @abc.abstractmethod
    def memory(self) -> int:
        """Bytes this synopsis takes, or at most takes; known before any item is added."""

    @classmethod
    def example(cls) -> Self:
        """A synopsis for laws and documentation; override where defaults do not suffice."""
        return cls()

    @classmethod
    def example_items(cls, rng: np.random.Generator, n: int) -> Items:
        """Random items this kind can take; override where it needs a special form."""
        return Items.of(
            rng.zipf(1.3, n) % 10_000,
            values=rng.integers(1, 10, n),
            times=1_700_000_000_000 + np.sort(rng.integers(0, 60_000, n)),
            ids=rng.integers(0, 2**63, n),
        )

    @classmethod
    def example_query(cls, question: str) -> dict[str, Any]:
        """A query that fits `example_items`; override where these arguments do not suffice."""
        stand_ins: dict[type, Any] = {str: "1", int: 1, float: 0.5, bool: True, list: []}
        asked = cls.questions[question]
        required = [a for a in asked.arguments if a.default is REQUIRED]
        return {"type": question, **{a.name: stand_ins[a.type] for a in required}}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.params.items())})"


class BankedSynopsis(Synopsis):
    """A synopsis whose state is arrays of fixed shape; all zero bytes mean empty.

    `later_arrays` are the last of the layout, which states of past versions did not have: bytes
    leave them out while they are all zero, so that such states are read and written as ever.
    """

    later_arrays: ClassVar[tuple[str, ...]] = ()
    _arrays: Arrays

    @abc.abstractmethod
    def layout(self) -> Layout:
        """dtype and shape of each array of one synopsis; follows from the parameters alone."""

    @abc.abstractmethod
    def add_slots(self, arrays: Arrays, slots: NDArray[np.int32], items: Items) -> None:
        """Add item i to slot `slots[i]`; arrays have the slots in front: (slots, *shape)."""

    def _prepare(self) -> None:
        self._arrays = {}

    @property
    def arrays(self) -> Arrays:
        """The state: arrays of a bank of one slot (made when first needed)."""
        if not self._arrays:
            layout = self.layout()
            self._arrays = {n: np.zeros((1, *shape), t) for n, (t, shape) in layout.items()}
        return self._arrays

    def at(self, arrays: Arrays, slot: int) -> Self:
        """The synopsis in one slot of a bank, as a view: nothing is copied."""
        view = object.__new__(type(self))
        view.__dict__.update(self.__dict__)
        view._arrays = {name: array[slot : slot + 1] for name, array in arrays.items()}
        return view

    def copy(self) -> Self:
        return self.at({name: array.copy() for name, array in self.arrays.items()}, 0)

    def _add(self, items: Items) -> None:
        self.add_slots(self.arrays, np.zeros(len(items), np.int32), items)

    def _payload(self) -> bytes:
        if sys.byteorder != "little":
            raise StateError("states are exchanged between little-endian machines only")
        later = any(self.arrays[name].any() for name in self.later_arrays if name in self.arrays)
        shown = self.arrays.values() if later else self._first_arrays().values()
        return b"".join(array.tobytes() for array in shown)

    def _first_arrays(self) -> Arrays:
        """All but the later arrays."""
        return {n: array for n, array in self.arrays.items() if n not in self.later_arrays}

    def _load(self, payload: memoryview) -> None:
        whole, later = self.memory, self._bytes(self.later_arrays)
        if len(payload) not in (whole, whole - later):
            raise StateError(f"{self.kind}: {len(payload)} bytes, expected {whole}")
        at = 0
        shown = self.arrays if len(payload) == whole else self._first_arrays()
        for array in shown.values():
            array.reshape(-1)[:] = np.frombuffer(payload, array.dtype, array.size, at)
            at += array.nbytes

    def _merge(self, other: Self) -> None:
        """Add the arrays up: right for linear kinds, others override."""
        for name, array in self.arrays.items():
            array += other.arrays[name]

    def subtract_slots(self, arrays: Arrays, slots: NDArray[np.int32], others: Arrays) -> None:
        """Take state i of `others` away from slot `slots[i]`, each slot once: for linear kinds."""
        for name, array in arrays.items():
            array[slots] -= others[name]

    @cached_property
    def memory(self) -> int:  # shards ask for each block
        return self._bytes(self.layout())

    def _bytes(self, names: Iterable[str]) -> int:
        """What these arrays take, those of them that there are."""
        layout = self.layout()
        specs = [layout[name] for name in names if name in layout]
        return sum(np.dtype(dtype).itemsize * math.prod(shape) for dtype, shape in specs)
