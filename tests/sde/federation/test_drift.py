"""With `drift` sites keep silent while the value cannot have moved by more; none is missed."""

import numpy as np
import pytest
from sites import SITES, T0
from wire_messages import tuples

from sde.requests.drift import radius, stated
from synopses import AMS, Items
from tests.sde.federation.test_watches import tick, watched


def test_a_ball_of_the_radius_moves_the_value_by_drift_at_most():
    for drift in (1e-3, 1.0, 1e9):
        for norm in (0.0, 1.0, 1e6):
            r = radius(drift, norm)
            assert 2 * norm * r + r**2 == pytest.approx(drift)


def test_more_than_drift_is_stated_only_when_the_norm_is_beyond_its_bound():
    assert [stated(50.0, norm, bound=100.0) > 50 for norm in (0, 50, 100, 101)] == [0, 0, 0, 1]


@pytest.mark.parametrize("kind", ["count_min", "moments"])
def test_a_count_is_never_further_off_than_drift_and_little_travels(kind):
    theta, exact, frames = 60, 0, 0
    query = {"type": "total" if kind == "count_min" else "count"}
    value = None if kind == "count_min" else "v"
    sites = watched(kind, query, value=value, drift=theta)
    rng = np.random.default_rng(2)
    frames = len(sites.frames)
    for number in range(1, 61):
        for site in SITES:
            count = int(rng.integers(0, 6))
            exact += count
            data = tuples("d", [(f"s{n}", {"k": f"k{n}", "v": 1.0}) for n in range(count)])
            sites[site].replies(data=data, time=T0)
        (reply,) = tick(sites, number)
        assert abs(reply["value"] - exact) <= theta
        assert reply["drift"] == theta
    assert len(sites.frames) - frames < 16  # of 120 that changed


@pytest.mark.parametrize("order", [("b", "c", "a"), ("a", "b", "c")])
def test_f2_is_never_further_off_than_the_drift_that_is_stated(order):
    """The exact value is that of one sketch of everything the sites had at their last tick."""
    theta = 1e6
    params = {"epsilon": 0.3, "delta": 0.1, "decimals": 0}
    sites = watched("ams", {"type": "f2"}, params=params, drift=theta)
    parts, rng = {site: AMS(**params) for site in SITES}, np.random.default_rng(3)
    looked = {site: part.copy() for site, part in parts.items()}
    frames = []
    for number in range(1, 101):
        for site in SITES:
            keys = [f"k{k}" for k in rng.zipf(1.5, 20) % 200]
            parts[site].add(Items.of(keys))
            sites[site].replies(data=tuples("d", [("s", {"k": k}) for k in keys]), time=T0)
        before = len(sites.frames)
        (reply,) = tick(sites, number, order)
        frames.append(len(sites.frames) - before)
        seen = looked if order[0] == "a" else parts
        whole = parts["a"].copy()
        for site in ("b", "c"):
            whole.merge(seen[site])
        assert abs(reply["value"] - whole.f2().value) <= reply["drift"]
        assert reply["drift"] <= theta or number < 10  # the norm outgrew its bound: it says so
        looked = {site: part.copy() for site, part in parts.items()}
    assert sum(frames[20:]) < 2 * 80 / 4
