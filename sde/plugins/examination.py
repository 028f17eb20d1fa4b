"""A plug-in's examination: every law of `synopses.laws`, in a process with limits.

Where it shall take over the synopses of an older version, that too: `taking_over`.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import dataclass

from sde.plugins import calls
from sde.plugins.calls import to_raw
from sde.plugins.declaration import Declaration
from sde.plugins.failure import PluginFailure
from sde.plugins.process import PluginProcess, UnfitPlugin
from sde.plugins.remote import checked_sizes, stated_layout
from sde.plugins.version import Made, Predecessor, Succession
from synopses import ParameterError, SynopsisError

TAKES_OVER = "takes_over_the_states_of_the_version_before"
LAW_SECONDS = 30.0  # that one law may take: kernels may have to be compiled


@dataclass(frozen=True, slots=True)
class Passed:
    """What the class declares, and how it takes over synopses of its predecessor."""

    declaration: Declaration
    successions: list[Succession]


@dataclass(frozen=True, slots=True)
class NotPassed:
    """The first law that the class broke, "" if it could not be loaded, and how."""

    law: str
    reason: str


def examine(
    name: str,
    source: str,
    memory: int,
    predecessor: Predecessor | None = None,
    on_law: Callable[[str, str], None] = lambda law, why_not: None,
    output: int = subprocess.DEVNULL,
) -> Passed | NotPassed:
    """Load the source and try every law on its class; never raises because of the plug-in.

    `predecessor`: the version whose synopses it shall take over. `on_law` is called with each law
    that holds, and why it does not apply, if so; `output` is where the plug-in may print.
    """
    process = PluginProcess(name, LAW_SECONDS, output)
    law = ""
    try:
        declaration = process.load(name, source, memory)
        for law, why_not in process.call(calls.ListLaws(), calls.LawNames)[0].names.items():
            if not why_not:
                process.call(calls.CheckLaw(law), calls.Done)
            on_law(law, why_not)
        law = TAKES_OVER
        successions = []
        if predecessor is not None:
            for old in predecessor.made:
                try:
                    made = _taking_over(process, declaration, predecessor, old)
                except ParameterError as error:
                    raise UnfitPlugin(
                        f"{error}, and there are synopses of {predecessor.kind} that have it: "
                        "delete them, or take such values"
                    ) from error
                successions.append(Succession(predecessor.kind, old.params, made))
    except (UnfitPlugin, SynopsisError) as error:
        return NotPassed(law, str(error))
    except PluginFailure as failure:
        return NotPassed(law, failure.reason)
    finally:
        process.stop()
    return Passed(declaration, successions)


def _taking_over(
    process: PluginProcess, declaration: Declaration, predecessor: Predecessor, old: Made
) -> Made:
    """What a synopsis of the older version is made with in the new one; UnfitPlugin if it cannot
    be: parameters that both have keep their values.

    A class without `migrate` gets the states as they are, so they must have the same form.
    """
    declared = [each.parameter() for each in declaration.parameters]
    kept = {each.name: old.params[each.name] for each in declared if each.name in old.params}
    sizes, _ = process.call(calls.Make(to_raw(kept)), calls.Sizes)
    params = {each.name: each.check(kept.get(each.name, each.default)) for each in declared}
    made = checked_sizes(process, params, sizes)
    if not declaration.migrates:
        if (predecessor.format, old.layout) != (declaration.format, made.layout):
            raise UnfitPlugin(
                f"its state has another layout or format than that of {predecessor.kind}, and the "
                "class has no migrate(old_params, old_state)"
            )
    elif old.layout is not None and made.layout is not None:
        layout = stated_layout(old.layout)
        migrate = calls.Migrate(to_raw(made.params), to_raw(old.params), layout)
        _, states = process.call(migrate, calls.Done, None, [bytes(old.memory)])
        if any(b"".join(states)):  # slots without items are all zeros
            raise UnfitPlugin("migrate made a state that is not empty of an empty one")
    return made
