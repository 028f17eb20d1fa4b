"""The contributions of all sites become one reply: who is in it, who is not and why."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field

import msgspec

from sde.federation.checks import Unusable, apart, require_usable
from sde.federation.contribution import states_of
from sde.records.partial import SiteContributions
from sde.records.result import PackedPlugin, States
from sde.records.sites import Asking, Contribution, SiteContribution
from sde.requests.gathered import Gathered
from sde.wire import Ask, Code, Fault, Refusal, ReplyFields, Request, Sites, SynopsisInfo, Watch
from sde.wire.durations import as_text
from synopses import MergeError


@dataclass(frozen=True, slots=True)
class FromOneSite:
    """What one site contributed; `states` of one that has any."""

    head: Contribution
    states: States
    size: int  # bytes it came in
    more: ReplyFields = field(default_factory=dict)  # to be said of the site

    def figures(self) -> ReplyFields:
        """What a reply says of the site."""
        counts = self.head.tuples
        counted = {"tuples": sum(c for c in counts if c is not None)} if self.head.about else {}
        return {**counted, "bytes": self.size, **self.more}


@dataclass(slots=True)
class FromSites:
    """What came from the sites, as far as it can be used, in the order they were named."""

    sites: dict[str, FromOneSite]
    missing: dict[str, str] = field(default_factory=dict)  # why a site is not in it

    def figures(self) -> ReplyFields:
        """What a reply says of the sites it is from."""
        sites = {site: one.figures() for site, one in self.sites.items()}
        missing = {"missing": self.missing} if self.missing else {}
        return {"sites": sites, **missing, "complete": not self.missing}

    def leave_out(self, reasons: dict[str, str]) -> None:
        self.missing |= reasons
        self.sites = {site: one for site, one in self.sites.items() if site not in reasons}


def one_site(contribution: SiteContribution, plugin: PackedPlugin | None) -> FromOneSite:
    parts = [base64.b64decode(part) for part in contribution.parts]
    head = contribution.head
    return FromOneSite(head, states_of(head, parts, plugin), contribution.size)


def from_sites(partial: SiteContributions, asking: Asking) -> FromSites:
    found = {one.site: one_site(one, partial.plugin) for one in partial.contributions}
    ordered = {site: found[site] for site in asking.sites if site in found}
    late = f"no answer within {as_text(asking.deadline)}"
    return FromSites(ordered, {site: late for site in asking.sites if site not in found})


def reply_fields(
    request: Request, partial: SiteContributions, asking: Asking, here: str
) -> ReplyFields:
    """What the reply says; RefusedBySites if there is none, WindowsDiffer if sites mean other
    ones."""
    sites = from_sites(partial, asking)
    match request:
        case Ask():
            return estimate_fields(request, sites, here)
        case Sites():
            return {"value": _listed(partial, sites, asking, here)}
        case _:
            return _acknowledged(sites, here, isinstance(request, Watch))


class RefusedBySites(Refusal):
    """A refusal that says what is known of the sites, too."""

    def __init__(self, fault: Fault, sites: FromSites) -> None:
        super().__init__(fault.code, fault.message, fault.field)
        self.figures = sites.figures()


def estimate_fields(request: Ask, sites: FromSites, here: str) -> ReplyFields:
    """The answer from all sites, without those whose contribution cannot be used."""
    faults = {s: one.head.fault for s, one in sites.sites.items() if one.head.fault is not None}
    unusable = {site: fault.message for site, fault in faults.items()}
    expected: list[SynopsisInfo] | None = None
    # What counts is how it is defined here.
    for site in sorted(sites.sites.keys() - faults.keys(), key=lambda s: (s != here, s)):
        one = sites.sites[site]
        try:
            require_usable(one.states, one.head.sha256, request, expected)
        except Unusable as error:
            unusable[site] = str(error)
        else:
            expected = expected or one.head.about
    sites.leave_out(unusable)
    if not sites.sites:
        fault = faults.get(here) or next(iter(faults.values()), None)
        reasons = "; ".join(f"{site}: {why}" for site, why in sites.missing.items())
        raise RefusedBySites(fault or Fault(Code.INCOMPLETE, f"no site answered: {reasons}"), sites)
    states = {site: one.states for site, one in sites.sites.items()}
    try:
        fields = Gathered(apart(states, request), request.span).answer(request)
    except MergeError as error:
        fault = Fault(Code.NOT_MERGEABLE, f"several sites have it: {error}")
        raise RefusedBySites(fault, sites) from None
    except Refusal as refusal:
        raise RefusedBySites(refusal.fault, sites) from None
    return {**fields, **sites.figures()}


def _acknowledged(sites: FromSites, here: str, may_lack: bool) -> ReplyFields:
    """`may_lack`: it goes on without sites that did not follow, as long as this one did."""
    unsaid = Fault(Code.INTERNAL, "a fault")
    faults = {s: one.head.fault or unsaid for s, one in sites.sites.items() if one.head.ok is None}
    sites.leave_out({site: fault.message for site, fault in faults.items()})
    if sites.missing and not (may_lack and here in sites.sites):
        fault = faults.get(here) or next(iter(faults.values()), None)
        reasons = "; ".join(f"{site}: {why}" for site, why in sorted(sites.missing.items()))
        done = f"; done at {', '.join(sites.sites)}" if sites.sites else ""
        code, name = (fault.code, fault.field) if fault else (Code.INCOMPLETE, "sites")
        raise RefusedBySites(Fault(code, f"{reasons}{done}", name), sites)
    mine = sites.sites.get(here) or next(iter(sites.sites.values()))
    return {**(mine.head.ok or {}), **sites.figures()}


def _listed(
    partial: SiteContributions, sites: FromSites, asking: Asking, here: str
) -> list[ReplyFields]:
    """The sites that are known, then those that frames claimed to be from."""
    traffic = {
        name: msgspec.to_builtins(counts)
        for name, counts in partial.traffic.items()
        if name != here
    }
    known = [
        {
            "site": site,
            "here": site == here,
            "answers": site in sites.sites,
            **traffic.get(site, {}),
        }
        for site in asking.sites
    ]
    others = {name: counts for name, counts in traffic.items() if name not in asking.sites}
    return known + [{"site": name, "answers": False, **counts} for name, counts in others.items()]
