"""Misspelt names: told before anything is sent where that is certain, else with the fault."""

import inspect

import pytest

from clients import BadInput, BadParameter, BadQuery, Client, InMemoryTransport, UnknownKind
from clients.suggestions import OF_ESTIMATE, OF_WATCH
from sde.testing import LocalTransport


@pytest.fixture
def transport() -> LocalTransport:
    return LocalTransport()


@pytest.fixture
def sde(transport) -> Client:
    return Client(transport, timeout=0.0)


def notes(caught) -> str:
    return " ".join(getattr(caught.value, "__notes__", []))


@pytest.mark.parametrize(
    ("kind", "params", "meant"),
    [
        ("Count-Min", {"key": "k"}, "count_min"),
        ("HyperLogLog", {"key": "k"}, "hyperloglog"),
        ("count_min", {"key": "k", "epsilom": 0.1}, "epsilon"),
        ("count_min", {"keys": "k"}, "key"),
        ("quantiles", {"value": "v", "scop": "stream"}, "scope"),
        ("quantiles", {"value": "v", "windows": "5m"}, "window"),
    ],
)
def test_what_is_certainly_misspelt_in_a_create_is_not_sent(kind, params, meant) -> None:
    transport = InMemoryTransport()
    with pytest.raises(BadInput, match=rf"expected .* Did you mean {meant}\?$"):
        Client(transport).create(kind, dataset="d", **params)
    assert transport.requests == []


def test_a_number_as_window_is_a_parameter_or_refused_with_the_remedy() -> None:
    transport = InMemoryTransport()
    sde = Client(transport)
    sde.create("dft", dataset="d", value="v", window=60)
    assert transport.requests[0]["params"] == {"window": 60}
    with pytest.raises(BadInput, match=r'window=\{"size": 1000\}'):
        sde.create("count_min", dataset="d", key="k", window=1000)
    assert len(transport.requests) == 1


def test_a_misspelt_kind_that_could_be_of_a_plugin_is_asked_for(sde) -> None:
    with pytest.raises(UnknownKind) as caught:
        sde.create("countmin", dataset="d", key="k")
    assert notes(caught) == "Did you mean count_min?"


def test_a_parameter_that_is_only_somewhat_alike_is_for_the_engine_to_refuse(sde) -> None:
    with pytest.raises(BadParameter, match="precision=9") as caught:
        sde.create("count_min", dataset="d", key="k", precision=9)
    assert notes(caught) == "Did you mean epsilon?"


@pytest.mark.parametrize(
    ("question", "arguments", "meant"),
    [
        ("frequencies", {"key": "a"}, "frequency"),
        (None, {"keys": "a"}, "key"),
        ("frequency", {"key": "a", "strem": "s"}, "stream"),
    ],
)
def test_a_misspelt_question_of_a_synopsis_created_here_is_not_sent(
    sde, transport, question, arguments, meant
) -> None:
    counts = sde.create("count_min", dataset="d", key="k")
    batch = transport.engine.batch
    with pytest.raises(BadInput, match=rf"Did you mean {meant}\?$"):
        counts.estimate(question, **arguments)
    with pytest.raises(BadInput, match=rf"Did you mean {meant}\?$"):
        counts.watch(question, every="1s", **arguments)
    assert transport.engine.batch == batch


def test_of_a_synopsis_known_by_its_uid_the_hint_comes_with_the_fault(sde) -> None:
    sde.create("count_min", dataset="d", uid="u", key="k")
    with pytest.raises(BadQuery) as caught:
        sde.estimate("u", "frequencies", key="a")
    assert notes(caught) == "Did you mean frequency?"
    with pytest.raises(BadQuery) as caught:
        sde.estimate("u", keys="a")
    assert notes(caught) == "Did you mean key?"


def test_a_misspelt_request_is_named_right() -> None:
    fault = {"status": "error", "code": "unknown_op", "message": "no", "field": "op"}
    with pytest.raises(Exception, match="no") as caught:
        Client(InMemoryTransport(lambda request: fault)).submit("estimat", uid="u").result()
    assert notes(caught) == "Did you mean estimate?"


def test_the_keywords_that_are_suggested_are_those_of_the_methods() -> None:
    beside = {"self", "synopses", "question", "arguments"}
    for keywords, method in ((OF_ESTIMATE, Client.estimate), (OF_WATCH, Client.watch)):
        assert keywords == set(inspect.signature(method).parameters) - beside


def test_names_of_a_plugin_are_left_to_the_engine() -> None:
    transport = InMemoryTransport()
    handle = Client(transport).create("speeding@2", dataset="d", keyy="x", limit=50)
    handle.estimate("fastes", strem="s")
    assert [each["op"] for each in transport.requests] == ["create", "estimate"]
