"""What a class says of itself, before any item."""

from __future__ import annotations

import json

import numpy as np

from synopses.base import BankedSynopsis, Synopsis
from synopses.laws.law import (
    LawError,
    N,
    demand,
    example_items,
    filled,
    law,
)


@law()
def declares_itself(cls: type[Synopsis]) -> None:
    """Kind, docstring, guarantee, questions and parameters are all there, with their meaning."""
    demand(bool(cls.kind and cls.kind.isidentifier()), "no kind")
    demand(bool(cls.__doc__), "no docstring")
    demand(bool(cls.guarantee), "no guarantee")
    demand(bool(cls.questions), "no questions")
    for name, asked in cls.questions.items():
        demand(bool(asked.doc), f"question {name} has no docstring")
    for name, declared in cls.parameters.items():
        demand(bool(declared.doc), f"parameter {name} has no doc")
    params = cls.example().params
    demand(cls(**json.loads(json.dumps(params))).params == params, "params")


@law()
def every_argument_has_a_limit(cls: type[Synopsis]) -> None:
    """No number, list or text in a question sets the cost of its answer without a limit.

    A key is looked up, whatever its length.
    """
    for asked in cls.questions.values():
        for argument in asked.arguments:
            if argument.type in (int, list, str) and argument.name != "key":
                message = f"question {asked.name}: state the largest {argument.name}, as in "
                message += f'@question(most={{"{argument.name}": 1000}})'
                demand(argument.most is not None, message)


@law()
def reads_no_more_than_it_declares(cls: type[Synopsis]) -> None:
    """The columns in `reads` suffice: an engine leaves all others of its items empty."""
    said = ", ".join(sorted(cls.reads))
    message = f"it needs a column of its items that is not in `reads` ({said}): name it there"
    whole, of_what_is_read = cls.example(), cls.example()
    whole.add(cls.example_items(np.random.default_rng(2), N))
    try:
        of_what_is_read.add(example_items(cls, seed=2))
    except Exception as error:
        raise LawError(f"{message}. Without it: {error!r}") from error
    demand(of_what_is_read.to_bytes() == whole.to_bytes(), message)


@law()
def memory_is_as_declared(cls: type[Synopsis]) -> None:
    """Arrays take what `memory` said before there was one; objects and bytes at most that."""
    declared = cls.example().memory
    synopsis = filled(cls, seed=1, n=5 * N)
    written = len(synopsis._payload())
    demand(written <= declared, f"{declared} bytes declared, {written} written")
    if isinstance(synopsis, BankedSynopsis):
        taken = sum(array.nbytes for array in synopsis.arrays.values())
        demand(taken == declared, f"{declared} bytes declared, {taken} taken")


@law("banked")
def empty_is_all_zero_bytes(cls: type[Synopsis]) -> None:
    """A banked synopsis without items is all zeros, so a new slot needs no preparation."""
    zero = not any(cls.example()._payload())
    demand(zero, "an empty synopsis holds a byte that is not 0")
