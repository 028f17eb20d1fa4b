"""What a watch with drift sends, on a stationary stream, against asking every ten seconds.

Each site gets tuples of its share of 5000 streams, whose traders follow Zipf's law, and a minute
later the same with a negative volume: at any time a synopsis holds the last minute. At each tick of
a second the answer is compared with a sketch of everything.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bench.federation.staged import START, StagedSites
from synopses import AMS, Items

SITES = ("athens", "berlin", "cork")
STREAMS, A_SECOND, WINDOW = 5000, 5000, 60  # tuples a second at all sites; seconds
EVERY = 10  # seconds between two questions without drift
_PARAMS = {"epsilon": 0.1, "delta": 0.01, "decimals": 0}
_CREATE = {"op": "create", "uid": "u", "dataset": "d", "kind": "ams", "key": "k", "value": "v"}


@dataclass(frozen=True, slots=True)
class Drifted:
    """Bytes and frames are all that went between the sites, from the request for the watch on."""

    drift: float | None  # as a share of the value; None: asked every ten seconds
    seconds: int
    bytes: int
    frames: int
    violations: int  # ticks at which the answer was further off than drift
    furthest: float  # from the exact value, as a share of drift


class _Load:
    """What comes to each site in a second, and a sketch of all that is in the window."""

    def __init__(self) -> None:
        self._rng = np.random.default_rng(9)
        self._past: list[list[np.ndarray]] = []
        self.whole = AMS(**_PARAMS)

    def second(self) -> list[bytes]:
        """Lines of JSON, for each site."""
        counts = self._rng.poisson(A_SECOND / len(SITES), len(SITES))
        now = [self._rng.zipf(1.3, count) % 20_000 for count in counts]
        self._past.append(now)
        gone = self._past.pop(0) if len(self._past) > WINDOW else [np.empty(0, np.int64)] * 3
        for keys, sign in ((now, 1), (gone, -1)):
            joined = np.concatenate(keys)
            if len(joined):
                self.whole.add(Items.of(joined, values=np.full(len(joined), sign)))
        return [
            _lines(a, 1, site) + _lines(b, -1, site)
            for site, (a, b) in enumerate(zip(now, gone, strict=True))
        ]


def _lines(keys: np.ndarray, sign: int, site: int) -> bytes:
    streams = site + len(SITES) * (np.arange(len(keys)) % (STREAMS // len(SITES)))
    return b"".join(
        b'{"dataset":"d","stream":"S%d","values":{"k":%d,"v":%d}}\n' % (s, k, sign)
        for s, k in zip(streams.tolist(), keys.tolist(), strict=True)
    )


def run(share: float | None, seconds: int, warm_up: int = 2 * WINDOW) -> Drifted:
    """`share`: drift as a share of the value it settles at; None: questions every ten seconds."""
    sites, load = StagedSites(SITES), _Load()
    (made,) = sites.ask(SITES[0], START, **_CREATE, params=_PARAMS, sites="*", id="c")
    assert made["status"] == "ok", made
    theta, off, asked = 0.0, 0.0, None
    violations, before = 0, (0, 0)
    for second in range(warm_up + seconds):
        now = START + 1000 * second
        for site, tuples in zip(sites.sites.values(), load.second(), strict=True):
            site.step(now, tuples)
        if second == warm_up:
            before = sites.bytes, sites.frames
            if share is not None:
                theta = share * load.whole.f2().value
                _watch(sites, now, theta)
                continue  # its first tick is a second later
        if share is None:
            if second % EVERY == 0:
                (answer,) = sites.ask(
                    SITES[0], now, op="estimate", id=f"q{second}", uid="u", query={}, sites="*"
                )
                assert answer["value"] == load.whole.f2().value, answer
        elif theta:
            asked = _tick(sites, now)
        if asked is not None:
            distance = abs(asked["value"] - load.whole.f2().value)
            violations += distance > theta or asked["drift"] > theta
            off = max(off, distance / theta)
    sent = sites.bytes - before[0], sites.frames - before[1]
    return Drifted(share, seconds, *sent, violations, off)


def _watch(sites: StagedSites, now: int, theta: float) -> None:
    (reply,) = sites.ask(
        SITES[0],
        now,
        op="watch",
        id="w",
        uid="u",
        query={"type": "f2"},
        every="1s",
        sites="*",
        drift=theta,
    )
    assert reply["status"] == "ok", reply


def _tick(sites: StagedSites, now: int) -> dict[str, Any] | None:
    """The answer of a tick; the site that answers is the last to look."""
    said: list[dict[str, Any]] = []
    for name in (*SITES[1:], SITES[0]):
        sites.sites[name].tick(now)
        said += sites.settle(now)[SITES[0]]
    numbered = [one for one in said if "number" in one]
    return numbered[-1] if numbered else None
