"""Sites that do not answer, answer late, twice, or with something else than they should."""

import pytest
from sites import T0, Sites, opened, peers_of, secret
from watched import content, replayed
from wire_messages import create, tuples

from sde.federation.frames import Content, seal
from sde.records.sites import Contribution, PeerRequest

TOTAL = {"op": "estimate", "uid": "u", "query": {"type": "total"}, "sites": "*"}


@pytest.fixture
def sites():
    made = Sites()
    assert made.ask(**create("u"), sites="*")["status"] == "ok"
    for number, site in enumerate(("a", "b", "c"), 1):
        made[site].replies(data=tuples("d", [("s", {"k": "x"})] * number))
    return made


def test_a_site_that_does_not_answer_is_left_out_at_the_deadline(sites):
    sites.cut = {"c"}
    assert sites.ask(**TOTAL, deadline="2s") is None
    assert sites["a"].due == T0 + 2000
    assert sites.later("a", 1999) == []
    (reply,) = sites.later("a", 2000)
    assert (reply["value"], reply["tuples"], reply["complete"]) == (3, 3, False)
    assert reply["missing"] == {"c": "no answer within 2s"}
    assert reply["sites"].keys() == {"a", "b"}


def test_when_the_site_is_back_the_next_answer_is_complete_and_the_late_one_counts_for_nothing(
    sites,
):
    sites.cut = {"c"}
    sites.ask(**TOTAL)
    sites.later("a", 5000)
    sites.cut = set()
    assert sites.settle()["a"] == []
    reply = sites.ask(**TOTAL, time=T0 + 6000)
    assert (reply["value"], reply["complete"]) == (6, True)
    told = {one["site"]: one for one in sites.ask(op="sites", time=T0 + 7000)["value"]}
    assert (told["c"]["late"], told["b"]["late"]) == (1, 0)


def test_the_clock_is_not_needed_any_more_once_all_have_answered(sites):
    assert sites.ask(**TOTAL)["complete"]
    assert sites["a"].due is None


def test_a_contribution_that_comes_twice_counts_once(sites):
    sites.cut = {"c"}
    sites.ask(**TOTAL)
    (frame,) = [f for _, to, f in sites.frames[-2:] if to == "a"]
    sites["a"].from_sites.append(frame)
    sites.settle()
    (reply,) = sites.later("a", 5000)
    assert reply["value"] == 3
    assert traffic(sites, "b")["repeated"] == 1


def traffic(sites, site):
    found = sites.ask(op="sites") or sites.later("a", 20_000)[-1]
    return next(one for one in found["value"] if one["site"] == site)


def test_an_old_answer_does_not_count_for_a_new_request_with_the_same_id(sites):
    sites.cut = {"c"}
    sites["a"].replies([{"id": "same", **TOTAL}])
    sites.settle()
    sites.later("a", 5000)
    sites["c"].replies(data=tuples("d", [("s", {"k": "x"})] * 10))
    sites["a"].replies([{"id": "same", **TOTAL}], time=T0 + 6000)
    sites.cut = set()
    (reply,) = sites.settle()["a"]
    assert (reply["value"], reply["complete"]) == (16, True)


@pytest.mark.parametrize("crash", ["before b", "before c"])
def test_a_crash_while_contributions_wait_loses_nothing(sites, crash):
    sites.cut = {"b", "c"} if crash == "before b" else {"c"}
    sites.ask(**TOTAL)
    outbound, union = sites["a"].outbound, sites["a"].union
    again = replayed(sites["a"])
    assert content(again.stores[0]) == content(sites["a"].stores[0])
    again.outbound, again.union = outbound, union
    again._offsets = sites["a"]._offsets
    sites.engines["a"] = again
    sites.cut = set()
    (reply,) = sites.settle()["a"]
    assert (reply["value"], reply["complete"]) == (6, True)


def test_the_desk_is_empty_when_all_is_answered(sites):
    for n in range(30):
        assert sites.ask(**TOTAL, time=T0 + n)["complete"]
    assert len(dict(sites["a"].stores[0].blobs())["desk.facts"]) < 600_000
    assert sites["a"].shard(0).beside["desk"].next_due() is None


# -- what is not from a site we know ------------------------------------------------------------


def frames():
    good = Content(Contribution(key="requests-0-0"))
    delete = PeerRequest(key="k", request={"op": "delete"})
    other = PeerRequest(key="k", request={"op": "import", "uid": "u", "state": ""})
    made = {
        "forged": seal("b", "a", b"guessed", good),
        "for another site": seal("b", "c", secret("a", "b").encode(), good),
        "unknown": seal("mallory", "a", b"x", good),
        "damaged": seal("b", "a", secret("a", "b").encode(), good)[:-5],
        "cut": b"SDEA",
        "a request": seal("b", "a", b"guessed", Content(delete)),
        "with another operation": seal("b", "a", secret("a", "b").encode(), Content(other)),
    }
    return [pytest.param(frame, id=name) for name, frame in made.items()]


@pytest.mark.parametrize("frame", frames())
def test_what_is_not_from_a_site_we_know_is_dropped_and_counted(sites, frame):
    sites["a"].from_sites.append(frame)
    assert sites["a"].replies() == []
    assert sites["a"].outbound == []
    told = sites.ask(op="sites")["value"]
    assert sum(one.get("refused", 0) for one in told) == 1
    assert sites.ask(**TOTAL)["value"] == 6


def test_frames_are_believed_in_the_topic_for_other_sites_only(sites):
    """Who may write there may write to no other topic; so nobody needs to be let to the others."""
    sites.cut = {"c"}
    sites.ask(**TOTAL)
    sites["b"].replies(data=tuples("d", [("s", {"k": "x"})]))
    sites.settle()
    asked = [f for _, to, f in sites.frames if to == "b"][-1]
    given = peers_of("c").seal("a", contribution_of(sites, "b"))
    sites["a"].union.append(given)
    assert sites["a"].replies() == []
    assert [letter["code"] for letter in sites["a"].letters] == ["untrusted"]
    (reply,) = sites["b"].replies([asked])
    assert reply["code"] == "bad_json"
    (reply,) = sites.later("a", 5000)
    assert list(reply["missing"]) == ["c"]


def test_the_secrets_are_in_no_reply_and_no_fault(sites):
    said = str([sites.ask(op="sites"), sites.ask(**TOTAL), sites.ask(**{**TOTAL, "sites": ["z"]})])
    assert "secret" not in said


# -- states that cannot be used -----------------------------------------------------------------


def contribution_of(sites, site):
    """The frame a site sent last to site a, opened."""
    frame = [f for n, to, f in sites.frames if (n, to) == (site, "a")][-1]
    return opened(frame)


def damaged():
    def state(content):
        content.parts[0] = content.parts[0][:-9] + b"123456789"

    def cut(content):
        content.parts[0] = content.parts[0][:20]

    def none(content):
        content.parts.clear()

    def many(content):
        content.parts.append(content.parts[0])

    def tuples_(content):
        content.head["tuples"] = [-5]

    def text(content):
        content.head["tuples"] = "many"

    def kind(content):
        content.head["about"][0]["kind"] = "hyperloglog"

    def params(content):
        content.head["about"][0]["params"] = {"epsilon": 0.5}

    def about(content):
        del content.head["about"]

    def window(content):
        content.head["windows"] = [[1]]

    return [state, cut, none, many, tuples_, text, kind, params, about, window]


@pytest.mark.parametrize("damage", damaged(), ids=lambda d: d.__name__)
def test_a_site_whose_contribution_cannot_be_used_is_left_out_with_the_reason(sites, damage):
    sites.cut = {"c"}
    sites.ask(**TOTAL)
    content = contribution_of(sites, "b")
    damage(content)
    sites["a"].from_sites.append(peers_of("c").seal("a", content))
    (reply,) = sites.settle()["a"] or sites.later("a", 5000)
    assert (reply["value"], reply["complete"]) == (3, False)
    assert reply["missing"].keys() == {"c"}
    assert "secret" not in reply["missing"]["c"]


def test_a_site_with_another_definition_is_left_out_with_the_reason(sites):
    sites.ask("c", op="delete", uid="u")
    sites.ask("c", **{**create("u", params={"epsilon": 0.1}), "id": "other"})
    reply = sites.ask(**TOTAL)
    assert reply["complete"] is False
    assert "epsilon" in reply["missing"]["c"]
    assert reply["value"] == 3


def test_a_site_without_the_synopsis_is_left_out_with_the_reason(sites):
    sites.ask("b", op="delete", uid="u")
    reply = sites.ask(**TOTAL)
    assert reply["missing"] == {"b": "uid='u': expected the uid of a synopsis"}
    assert (reply["value"], reply["complete"]) == (4, False)
