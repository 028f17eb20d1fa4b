"""From source text to the class of a plug-in. Runs only in a plug-in's own process."""

from __future__ import annotations

import inspect
import linecache
import sys
from types import ModuleType

from synopses import KINDS, Synopsis


class SourceError(Exception):
    """The source is no plug-in; says what is missing."""


_COLUMNS = frozenset({"keys", "texts", "values", "times", "ids"})


def load_class(name: str, source: str) -> type[Synopsis]:
    """Run the source; the one public Synopsis class that it defines.

    SourceError if there is none, more than one, an abstract one, or one of another kind.
    """
    file = f"<plug-in {name}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    module = ModuleType(f"sde_plugin_{name}")
    sys.modules[module.__name__] = module
    exec(compile(source, file, "exec"), vars(module))
    found = [
        member
        for member in vars(module).values()
        if inspect.isclass(member)
        and issubclass(member, Synopsis)
        and member.__module__ == module.__name__
        and not member.__name__.startswith("_")
    ]
    if len(found) != 1:
        names = ", ".join(cls.__name__ for cls in found) or "none"
        raise SourceError(
            f"expected one public class that is a synopses.Synopsis, there is: {names}"
        )
    cls = found[0]
    if inspect.isabstract(cls):
        missing = ", ".join(sorted(cls.__abstractmethods__))
        raise SourceError(f"{cls.__name__} does not define {missing}")
    if getattr(cls, "kind", None) != name:
        raise SourceError(f"{cls.__name__}.kind={getattr(cls, 'kind', None)!r}: expected {name!r}")
    if unknown := cls.reads - _COLUMNS:
        raise SourceError(
            f"{cls.__name__}.reads has {', '.join(map(repr, sorted(unknown)))}: expected some of "
            f"{', '.join(map(repr, sorted(_COLUMNS)))}, the columns of items"
        )
    if name in KINDS:
        raise SourceError(f"{name!r} is a kind already: choose another name")
    return cls
