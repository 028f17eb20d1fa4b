"""Several local engines that are sites of each other, with a local forwarder between them."""

import itertools

import msgspec

from sde.federation.frames import Content
from sde.federation.peers import Peers
from sde.records.seal import LoopSeal
from sde.testing import LocalEngine

T0 = 1_700_000_000_000
SITES = ("a", "b", "c")
_numbers = itertools.count()


def secret(one, other):
    return "-".join(sorted((one, other))) + " secret"


def peers_of(site, sites=SITES):
    return Peers(site, {s: secret(site, s) for s in sites if s != site})


def engine_of(site, sites=SITES, shards=3):
    secrets = {s: secret(site, s) for s in sites if s != site}
    checkpoint = LoopSeal.new(f"{site} {next(_numbers)}")
    return LocalEngine(shards=shards, site=site, secrets=secrets, seal=checkpoint)


def opened(frame, site="a"):
    """What a frame for a site holds, with its head as the JSON object it travels as."""
    content = peers_of(site).unseal(frame)[1]
    return Content(msgspec.to_builtins(content.head), content.parts)


class Sites:
    """`cut`: sites that nothing reaches and that reach nobody; what is for them waits."""

    def __init__(self, names=SITES, shards=(3, 2, 4)):
        counts = dict(zip(names, shards, strict=False))
        self.engines = {n: engine_of(n, names, counts[n]) for n in names}
        self.cut = set()
        self.bytes = 0  # between sites
        self.frames = []  # (from, to, frame), all that was delivered

    def __getitem__(self, site):
        return self.engines[site]

    def __setitem__(self, site, engine):
        self.engines[site] = engine

    def deliver(self):
        """The forwarder: frames that wait go to the topics of their sites."""
        for name, engine in self.engines.items():
            waiting, engine.outbound = engine.outbound, []
            for to, frame in waiting:
                if self.cut & {name, to}:
                    engine.outbound.append((to, frame))
                    continue
                self.bytes += len(frame)
                self.frames.append((name, to, frame))
                self.engines[to].from_sites.append(frame)

    def settle(self, most=40):
        """Batches at all sites until nothing is under way; the replies by site."""
        replies = {name: [] for name in self.engines}
        for _ in range(most):
            self.deliver()
            busy = [n for n in self.engines if n not in self.cut and self[n].is_busy]
            if not busy:
                return replies
            for name in busy:
                replies[name] += self[name].replies(time=self[name].now)
        raise AssertionError("the sites do not come to rest")

    def ask(self, site="a", time=T0, **request):
        """The one reply to a request at a site, or None if it still waits."""
        message = {"id": f"q{self[site].batch}", **request}
        self[site].now = time
        found = self[site].replies([message], time=time)
        found += self.settle()[site]
        assert len(found) < 2, found
        return found[0] if found else None

    def later(self, site, milliseconds):
        """What a site says when a tick of so much later comes."""
        return self[site].tick(T0 + milliseconds).replies() + self.settle()[site]
