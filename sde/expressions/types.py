"""The type of an expression, as far as it is known before any tuple."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from sde.expressions import tree
from sde.expressions.functions import SIGNATURES, Type

__all__ = ["Type", "agreed", "type_of"]


def type_of(node: tree.Expression) -> Type:
    match node:
        case tree.Null() | tree.Path():
            return Type.UNKNOWN
        case tree.Number() | tree.Negative() | tree.Arithmetic():
            return Type.NUMBER
        case tree.Text():
            return Type.TEXT
        case tree.Boolean() | tree.Comparison() | tree.In() | tree.IsNull():
            return Type.BOOLEAN
        case tree.Not() | tree.And() | tree.Or():
            return Type.BOOLEAN
        case tree.Call(function, arguments):
            signature = SIGNATURES[function]
            if signature.result is not Type.UNKNOWN:
                return signature.result
            free = [a for i, a in enumerate(arguments) if signature.argument(i) is Type.UNKNOWN]
            return agreed(map(type_of, free)) or Type.UNKNOWN
        case _:
            assert_never(node)


def agreed(types: Iterable[Type]) -> Type | None:
    """The type of a value that may have either; None if two that are known differ.

    >>> agreed([Type.NUMBER, Type.NUMBER]), agreed([Type.NUMBER, Type.UNKNOWN])
    (<Type.NUMBER: 'a number'>, <Type.UNKNOWN: 'any value'>)
    """
    found = set(types)
    if len(found - {Type.UNKNOWN}) > 1:
        return None
    return Type.UNKNOWN if Type.UNKNOWN in found else found.pop()
