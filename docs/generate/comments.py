"""The comment at the end of a declaration's line: what it means, for the reference pages."""

from __future__ import annotations

import inspect
import io
import tokenize


def comments(cls: type) -> dict[str, str]:
    """By the name that a line of the class's body begins with; those with a comment only."""
    found: dict[str, str] = {}
    name = ""
    at_start = True
    for token in tokenize.generate_tokens(io.StringIO(inspect.getsource(cls)).readline):
        if token.type in (tokenize.NEWLINE, tokenize.NL):
            at_start = True
        elif token.type == tokenize.NAME and at_start:
            name, at_start = token.string, False
        elif token.type == tokenize.COMMENT and not at_start:
            found[name] = token.string.removeprefix("#").strip()
        elif token.type not in (tokenize.INDENT, tokenize.DEDENT):
            at_start = False
    return found
