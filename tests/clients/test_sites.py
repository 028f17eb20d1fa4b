"""Requests over sites from Python and the command line, over the in-memory transport."""

import json

import pytest
from click.testing import CliRunner

from clients import Client, InMemoryTransport
from clients.cli import main

SITES = [
    {"site": "a", "answers": True, "here": True},
    {"site": "b", "answers": False, "received": 2048, "sent": 10, "late": 1, "refused": 2},
]


def engine(request):
    if request["op"] == "sites":
        return {"value": SITES}
    if request["op"] == "estimate":
        return {"value": 5, "missing": {"b": "no answer within 2s"}, "complete": False}
    return {"uid": "u"}


@pytest.mark.parametrize(
    ("given", "sent"), [("*", "*"), ("a", ["a"]), (["a", "b"], ["a", "b"]), (("a",), ["a"])]
)
def test_sites_are_all_one_or_several(given, sent):
    transport = InMemoryTransport(engine)
    with Client(transport) as sde:
        handle = sde.create("count_min", dataset="d", key="k", sites=given, deadline="2s")
        handle.estimate(key="x", sites=given, deadline="2s")
        sde.delete("u", sites=given, deadline="2s")
    assert [(r["sites"], r["deadline"]) for r in transport.requests] == [(sent, "2s")] * 3


def test_without_sites_nothing_of_them_is_sent():
    transport = InMemoryTransport(engine)
    with Client(transport) as sde:
        sde.create("count_min", dataset="d", key="k")
        sde.delete("u")
    assert not any({"sites", "deadline", "drift"} & r.keys() for r in transport.requests)


def test_an_answer_names_the_sites_that_are_not_in_it():
    with Client(InMemoryTransport(engine)) as sde:
        assert sde.estimate("u", sites="*").missing == {"b": "no answer within 2s"}


def test_a_watch_over_sites_takes_drift():
    transport = InMemoryTransport(engine)
    with Client(transport) as sde:
        sde.watch("u", "total", every="1s", sites="*", drift=5.0)
    assert (transport.requests[0]["sites"], transport.requests[0]["drift"]) == ("*", 5.0)


def test_sites_are_told_with_what_went_between():
    with Client(InMemoryTransport(engine)) as sde:
        a, b = sde.sites()
    assert (a.site, a.answers, a.received) == ("a", True, 0)
    assert (b.answers, b.received, b.sent, b.late, b.refused) == (False, 2048, 10, 1, 2)


def run(*args):
    transport = InMemoryTransport(engine)
    return CliRunner().invoke(main, list(args), obj=transport), transport


def test_the_command_line_names_sites_and_tells_who_is_missing():
    result, transport = run("estimate", "u", "key=x", "--sites", "a, b", "--deadline", "2s")
    assert transport.requests[0]["sites"] == ["a", "b"]
    assert "without b: no answer within 2s" in result.stderr
    assert result.exit_code == 0


def test_a_deadline_without_sites_is_wrong_usage():
    result, _ = run("delete", "u", "--deadline", "2s")
    assert result.exit_code == 2
    assert "--sites" in result.stderr


def test_sde_sites_lists_them():
    result, _ = run("sites")
    assert "2.05 kB" in result.stdout
    shown, _ = run("sites", "--json")
    assert json.loads(shown.stdout) == SITES
