"""The contributions of all sites become one reply: who is in it, who is not and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sde.federation.checks import Unusable, apart, fault_of, usable
from sde.federation.request import Asked
from sde.records.partial import Partial
from sde.requests.gathered import Gathered
from sde.wire import Ask, Code, Fault, Refusal, Request, Sites, Watch
from sde.wire.durations import as_text
from synopses import MergeError


@dataclass(slots=True)
class Came:
    """What came from the sites, as far as it can be used."""

    sites: dict[str, Partial]
    sizes: dict[str, int]
    missing: dict[str, str] = field(default_factory=dict)  # why a site is not in it
    more: dict[str, dict[str, Any]] = field(default_factory=dict)  # to be said of a site

    def told(self) -> dict[str, Any]:
        """What a reply says of the sites it is from."""
        sites = {site: self._figures(site) for site in self.sites}
        missing = {"missing": self.missing} if self.missing else {}
        return {"sites": sites, **missing, "complete": not self.missing}

    def _figures(self, site: str) -> dict[str, Any]:
        tuples = self.sites[site].head.get("tuples")
        counted = {} if tuples is None else {"tuples": sum(t for t in tuples if t is not None)}
        return {**counted, "bytes": self.sizes[site], **self.more.get(site, {})}


def sorted_out(partial: Partial, asked: Asked) -> Came:
    """The contributions in the order in which their sites were named."""
    given, sizes, at = {}, {}, 0
    plugin = {"plugin": partial.head["plugin"]} if "plugin" in partial.head else {}
    for one in partial.head["came"]:
        parts = partial.parts[at : at + one["parts"]]
        at += one["parts"]
        sizes[one["site"]] = one["size"]
        head = {**one["head"], **plugin}
        given[one["site"]] = Partial(partial.arrived, 0, 1, partial.batch, head, parts)
    ordered = {site: given[site] for site in asked.sites if site in given}
    silent = {
        site: f"no answer within {as_text(asked.deadline)}"
        for site in asked.sites
        if site not in given
    }
    return Came(ordered, sizes, silent)


def reply_fields(request: Request, partial: Partial, asked: Asked, here: str) -> dict[str, Any]:
    """What the reply says; Refused if there is none, WindowsDiffer if sites mean different ones."""
    came = sorted_out(partial, asked)
    match request:
        case Ask():
            return estimated(request, came, here)
        case Sites():
            return {"value": _told_of_sites(partial, came, asked, here)}
        case _:
            return _acknowledged(came, here, isinstance(request, Watch))


class Refused(Refusal):
    """A refusal that says what is known of the sites, too."""

    def __init__(self, fault: Fault, came: Came) -> None:
        super().__init__(fault.code, fault.message, fault.field)
        self.told = came.told()


def estimated(request: Ask, came: Came, here: str) -> dict[str, Any]:
    """The answer out of what came, without those whose contribution cannot be used."""
    faults = {s: fault_of(p.head) for s, p in came.sites.items() if "fault" in p.head}
    expected: list[dict[str, Any]] | None = None
    for site in sorted(
        came.sites, key=lambda s: s != here
    ):  # what counts is how it is defined here
        try:
            found = usable(came.sites[site], request, expected)
        except Unusable as error:
            came.missing[site] = str(error)
        else:
            expected = expected or found.head["about"]
    came.sites = {s: p for s, p in came.sites.items() if s not in came.missing}
    if not came.sites:
        fault = faults.get(here) or next(iter(faults.values()), None)
        reasons = "; ".join(f"{site}: {why}" for site, why in came.missing.items())
        raise Refused(fault or Fault(Code.INCOMPLETE, f"no site answered: {reasons}"), came)
    try:
        fields = Gathered(apart(came.sites, request), request.span).estimate(request)
    except MergeError as error:
        raise Refused(Fault(Code.NOT_MERGEABLE, f"several sites have it: {error}"), came) from None
    except Refusal as refusal:
        raise Refused(refusal.fault, came) from None
    return {**fields, **came.told()}


def _acknowledged(came: Came, here: str, may_lack: bool) -> dict[str, Any]:
    """`may_lack`: it goes on without sites that did not follow, as long as this one did."""
    faults = {s: fault_of(p.head) for s, p in came.sites.items() if "ok" not in p.head}
    came.sites = {s: p for s, p in came.sites.items() if s not in faults}
    came.missing |= {site: fault.message for site, fault in faults.items()}
    if came.missing and not (may_lack and here in came.sites):
        fault = faults.get(here) or next(iter(faults.values()), None)
        reasons = "; ".join(f"{site}: {why}" for site, why in sorted(came.missing.items()))
        done = f"; done at {', '.join(came.sites)}" if came.sites else ""
        code, name = (fault.code, fault.field) if fault else (Code.INCOMPLETE, "sites")
        raise Refused(Fault(code, f"{reasons}{done}", name), came)
    told = next(iter(came.sites.values())).head["ok"]
    mine = came.sites[here].head["ok"] if here in came.sites else told
    return {**(mine if isinstance(mine, dict) else {}), **came.told()}


def _told_of_sites(partial: Partial, came: Came, asked: Asked, here: str) -> list[dict[str, Any]]:
    traffic = {name: held for name, held in partial.head["traffic"].items() if name != here}
    told = [
        {"site": site, "here": site == here, "answers": site in came.sites, **traffic.get(site, {})}
        for site in asked.sites
    ]
    unknown = {name: held for name, held in traffic.items() if name not in asked.sites}
    return told + [{"site": name, "answers": False, **held} for name, held in unknown.items()]
