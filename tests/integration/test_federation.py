"""Three engines with a broker each answer as one, also when a site dies or a line is cut."""

import time

import numpy as np
import pytest
from integration.cuttable_link import CuttableLink
from integration.waiting import wait_for_tuples

from bench.federation.sites import NAMES, running_sites
from synopses import KINDS, Items

pytestmark = pytest.mark.integration

A, B, C = NAMES
START = 1_700_000_000_000
EACH = 4000
ALL = {"sites": "*", "deadline": "40s"}


@pytest.fixture(scope="module")
def links():
    """The line to site c, from each other site."""
    made = {}
    yield made
    for link in made.values():
        link.close()


@pytest.fixture(scope="module")
def sites(tmp_path_factory, links):
    def route(sender, to, address):
        if to != C:
            return address
        links[sender] = CuttableLink(address)
        return links[sender].address

    with running_sites(tmp_path_factory.mktemp("sites"), route=route) as running:
        yield running


@pytest.fixture(scope="module")
def clients(sites):
    made = {name: site.client(120) for name, site in sites.items()}
    yield made
    for client in made.values():
        client.close()


def rows(number):
    rng = np.random.default_rng(number)
    keys, streams = rng.zipf(1.3, EACH) % 500, rng.integers(0, 30, EACH)
    return [
        (f"{NAMES[number]} {s}", {"k": f"k{k}", "v": k / 8}, START + n)
        for n, (s, k) in enumerate(zip(streams.tolist(), keys.tolist(), strict=True))
    ]


def walks():
    """By site: streams of which those numbered 0 move together."""
    rng = np.random.default_rng(11)
    common = np.cumsum(rng.normal(size=80))
    return {
        name: {
            f"{name} {n}": common if n == 0 else np.cumsum(rng.normal(size=80)) for n in range(5)
        }
        for name in NAMES
    }


DATA = {name: rows(number) for number, name in enumerate(NAMES)}
KEYS = [values["k"] for name in NAMES for _, values, _ in DATA[name]]
WALKS = walks()


@pytest.fixture(scope="module")
def filled(clients):
    a = clients[A]
    a.create("count_min", dataset="d", uid="counts", key="k", **ALL)
    a.create("hyperloglog", dataset="d", uid="distinct", key="k", **ALL)
    a.create("quantiles", dataset="d", uid="values", value="v", **ALL)
    a.create(
        "dft",
        dataset="w",
        uid="walks",
        value="v",
        scope="stream",
        window=60,
        basic_window=12,
        **ALL,
    )
    for name, client in clients.items():
        client.send_many("d", DATA[name])
        ticks = [
            (stream, {"v": v}, START + 1000 * t)
            for stream, walk in WALKS[name].items()
            for t, v in enumerate(walk.tolist())
        ]
        client.send_many("w", ticks)
        wait_for_tuples(client, "counts", EACH)
        wait_for_tuples(client, "walks", 400)
    return clients


def alone(kind, **items):
    synopsis = KINDS[kind]()
    synopsis.add(Items.of(KEYS))
    return synopsis


def test_a_create_reaches_every_site_with_the_same_seed(filled):
    told = [client.describe("counts") for client in filled.values()]
    assert [one.params for one in told] == [told[0].params] * 3


def test_count_min_answers_as_one_engine_fed_with_everything(filled):
    whole = alone("count_min")
    for name in (A, C):
        for key in ("k1", "k7", "k499"):
            answer = filled[name].estimate("counts", key=key, **ALL)
            assert (answer.value, answer.upper) == (
                whole.frequency(key).value,
                whole.frequency(key).upper,
            )
            assert answer.tuples == 3 * EACH
            assert answer.raw["complete"]
            assert set(answer.raw["sites"]) == set(NAMES)


def test_the_states_of_the_sites_are_together_that_of_one_engine_to_the_byte(filled):
    for uid, kind in (("counts", "count_min"), ("distinct", "hyperloglog")):
        merged, *others = [KINDS[kind].from_bytes(c.export(uid)) for c in filled.values()]
        for other in others:
            merged.merge(other)
        assert merged.to_bytes() == alone(kind).to_bytes()


def test_hyperloglog_counts_what_all_sites_saw_once(filled):
    assert filled[B].estimate("distinct", **ALL).value == alone("hyperloglog").cardinality().value


def test_quantiles_are_those_of_all_sites(filled):
    answer = filled[A].estimate("values", q=0.5, **ALL)
    values = [values["v"] for name in NAMES for _, values, _ in DATA[name]]
    assert answer.lower <= np.quantile(values, 0.5) <= answer.upper
    assert answer.tuples == 3 * EACH


def test_pairs_are_found_across_sites(filled):
    answer = filled[B].estimate("walks", "pairs", threshold=0.95, **ALL)
    window = {s: walk[-60:] for walks in WALKS.values() for s, walk in walks.items()}
    exact = {
        frozenset((one, other))
        for one in window
        for other in window
        if one < other and abs(np.corrcoef(window[one], window[other])[0, 1]) >= 0.95
    }
    found = {frozenset(pair[:2]) for pair in answer.value}
    assert frozenset((f"{A} 0", f"{C} 0")) in exact
    assert exact <= found


def test_inner_products_are_of_all_sites(filled):
    whole = alone("count_min")
    answer = filled[A].estimate(["counts", "counts"], "inner_product", **ALL)
    assert answer.value == whole.inner_product(alone("count_min")).value


def test_sites_tells_that_all_answer(filled):
    told = {site.site: site for site in filled[A].sites(deadline="40s")}
    assert {site: one.answers for site, one in told.items()} == dict.fromkeys(NAMES, True)
    assert told[B].received > 0
    assert told[B].sent > 0


def until(holds, seconds=90):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(1)


def complete(client):
    return client.estimate("counts", "total", **ALL)


def test_a_site_killed_during_a_question_is_left_out_at_the_deadline_and_in_again_when_back(
    sites, filled
):
    engine = sites[C].engine
    pending = filled[A].submit_estimate("counts", "total", sites="*", deadline="15s")
    engine.kill()
    answer = pending.result()
    if answer.missing:  # it may have answered just before
        assert answer.missing == {C: "no answer within 15s"}
        assert answer.value == 2 * EACH
    answer = filled[A].estimate("counts", "total", sites="*", deadline="15s")
    assert answer.missing == {C: "no answer within 15s"}
    assert (answer.value, answer.raw["complete"]) == (2 * EACH, False)
    engine.start()
    answer = complete(filled[A])
    assert (answer.value, answer.tuples, answer.missing) == (3 * EACH, 3 * EACH, {})


def test_a_cut_of_the_line_leaves_a_site_out_until_it_is_mended_and_nothing_counts_twice(
    links, filled
):
    for link in links.values():
        link.cut.set()
    began = time.monotonic()
    answer = filled[A].estimate("counts", "total", sites="*", deadline="15s")
    assert (answer.value, list(answer.missing)) == (2 * EACH, [C])
    with_local_work = filled[A].estimate("counts", "total")
    assert with_local_work.value == EACH
    time.sleep(max(0.0, 30 - (time.monotonic() - began)))
    for link in links.values():
        link.cut.clear()
    until(lambda: not complete(filled[A]).missing)
    answer = complete(filled[A])
    assert (answer.value, answer.tuples) == (3 * EACH, 3 * EACH)
    late = {site.site: site.raw.get("late", 0) for site in filled[A].sites()}
    assert late[C] >= 1


def test_a_delete_is_carried_out_at_every_site(filled):
    filled[B].create("count_min", dataset="d", uid="short-lived", key="k", **ALL)
    filled[B].delete("short-lived", **ALL)
    for client in filled.values():
        assert "short-lived" not in {one.uid for one in client.list()}


def test_a_watch_over_sites_goes_on_and_ends_at_all_of_them(filled):
    with filled[A].watch("counts", "total", every="1s", timeout=90, **ALL) as answers:
        until(lambda: next(answers).value == 3 * EACH)
        filled[B].send_many("d", [("late", {"k": "late", "v": 1.0}, START)] * 7)
        until(lambda: next(answers).value == 3 * EACH + 7)
