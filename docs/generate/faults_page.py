"""docs/reference/faults.md: the closed list of fault codes."""

from __future__ import annotations

from clients.errors import refused
from docs.generate import markdown
from docs.generate.comments import comments
from docs.generate.markdown import code
from sde.wire.faults import Code
from service.gateway.problems import STATUS_OF

_INTRODUCTION = """\
A request that cannot be carried out gets a reply with `"status": "error"`, a `code` of this list,
a `message` for people and, where one is to blame, the name of the `field`. A message that is no
tuple at all goes to the dead-letter topic with the same codes. Nothing stops the job.

The message names the field, its value and what was expected. Programs should look at the code:
the list is closed, and a code keeps its meaning. In Python each code is an exception, a subclass of
`clients.Refused`. Over [HTTP](../how-to/http.md#errors) each has a status."""


def text() -> str:
    meanings = comments(Code)
    rows = [
        [
            code(c.value),
            meanings.get(c.name, ""),
            code(type(refused({"code": c.value})).__name__),
            str(STATUS_OF[c]),
        ]
        for c in Code
    ]
    header = ["code", "meaning", "in Python", "over HTTP"]
    return markdown.page("Fault codes", _INTRODUCTION, markdown.table(header, rows))
