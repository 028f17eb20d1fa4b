"""Expressions over the fields of tuples: our own small language, parsed, never `eval`.

    parser, tokens       text becomes a tree, or an ExpressionError that names the place
    tree                 the tree, its canonical text, the paths in it
    types, functions     what is known before any tuple: types, and the functions
    evaluation           a tree and columns become a column
    numbers, truth, text_values, choosing   the values it computes with

>>> import numpy as np
>>> from sde.tuples.column import Column
>>> columns = {"px": Column(np.array([2.5, 4.0])), "qty": Column(np.array([2, 3]))}
>>> evaluate(parse("px * qty"), columns, 2).data.tolist()
[5, 12]
>>> holds(parse("px * qty > 5"), columns, 2).tolist()
[False, True]

Names are fields, or paths into nested ones: `price`, `trader.id`, `legs[0].price`, `$key` (what a
message says beside its fields); any other name stands in backticks: `` `odd name-1` `` (a backtick
in it is doubled). Texts stand in single or double quotes; a quote in it is doubled, a backslash is
a backslash. Words of the language are in lower case.

    or · and · not · == != < <= > >= in, not in, is null, is not null · + - · * / % · -

bind in this order, the loosest first. Comparisons do not chain.
"""

from sde.expressions.errors import ExpressionError
from sde.expressions.evaluation import evaluate, holds
from sde.expressions.parser import parse
from sde.expressions.tree import Expression, paths
from sde.expressions.types import Type, type_of

__all__ = [
    "Expression",
    "ExpressionError",
    "Type",
    "evaluate",
    "holds",
    "parse",
    "paths",
    "type_of",
]
