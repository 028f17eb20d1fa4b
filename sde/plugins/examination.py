"""A plug-in's examination: every law of `synopses.laws`, in a process with limits."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sde.plugins.failure import PluginFailure
from sde.plugins.process import PluginProcess, Refused

LAW_SECONDS = 30.0  # that one law may take: kernels may have to be compiled


@dataclass(frozen=True, slots=True)
class Examined:
    """What a class declares, if it passed; the first law it broke and how, if not."""

    declaration: dict[str, Any]
    law: str = ""
    reason: str = ""

    @property
    def passed(self) -> bool:
        return not self.reason


def examine(
    name: str,
    source: str,
    memory: int,
    on_law: Callable[[str], None] = lambda law: None,
    output: int = subprocess.DEVNULL,
) -> Examined:
    """`on_law` is called with each law that holds; `output` is where the plug-in may print."""
    process = PluginProcess(name, LAW_SECONDS, output)
    law, declaration = "", {}
    try:
        declaration = process.load(name, source, memory)
        for law in process.call("laws", {})[0]["laws"]:
            process.call("law", {"law": law})
            on_law(law)
    except Refused as refused:
        return Examined(declaration, law, str(refused))
    except PluginFailure as failure:
        return Examined(declaration, law, failure.reason)
    finally:
        process.stop()
    return Examined(declaration)
