"""A plug-in's examination: every law of `synopses.laws`, in a process with limits."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from sde.plugins import calls
from sde.plugins.declaration import Declaration
from sde.plugins.failure import PluginFailure
from sde.plugins.process import PluginProcess, UnfitPlugin
from synopses import SynopsisError

LAW_SECONDS = 30.0  # that one law may take: kernels may have to be compiled


@dataclass(frozen=True, slots=True)
class Passed:
    declaration: Declaration


@dataclass(frozen=True, slots=True)
class NotPassed:
    """The first law that the class broke, "" if it could not be loaded, and how."""

    law: str
    reason: str


def examine(
    name: str,
    source: str,
    memory: int,
    on_law: Callable[[str], None] = lambda law: None,
    output: int = subprocess.DEVNULL,
) -> Passed | NotPassed:
    """Load the source and try every law on its class; never raises because of the plug-in.

    `on_law` is called with each law that holds; `output` is where the plug-in may print.
    """
    process = PluginProcess(name, LAW_SECONDS, output)
    law = ""
    try:
        declaration = process.load(name, source, memory)
        for law in process.call(calls.ListLaws(), calls.LawNames)[0].names:
            process.call(calls.CheckLaw(law), calls.Done)
            on_law(law)
    except (UnfitPlugin, SynopsisError) as error:
        return NotPassed(law, str(error))
    except PluginFailure as failure:
        return NotPassed(law, failure.reason)
    finally:
        process.stop()
    return Passed(declaration)
