"""Misspelt names: told before anything is sent where that is certain, else with the fault."""

import inspect

import pytest

from clients import (
    BadInput,
    BadParameter,
    BadQuery,
    BadRequest,
    Client,
    InMemoryTransport,
    UnknownKind,
)
from clients.suggestions import OF_ESTIMATE, OF_WATCH
from sde.testing import LocalTransport


@pytest.fixture
def transport() -> LocalTransport:
    return LocalTransport()


@pytest.fixture
def sde(transport) -> Client:
    return Client(transport, timeout=0.0)


@pytest.mark.parametrize(
    ("kind", "params", "meant"),
    [
        ("Count-Min", {"key": "k"}, "count_min"),
        ("HyperLogLog", {"key": "k"}, "hyperloglog"),
        ("count_min", {"key": "k", "epsilom": 0.1}, "epsilon"),
        ("count_min", {"keys": "k"}, "key"),
        ("quantiles", {"value": "v", "scop": "stream"}, "scope"),
        ("quantiles", {"value": "v", "windows": "5m"}, "window"),
        ("quantiles", {"value": "v", "window": {"typ": "sliding", "size": "5m"}}, "type"),
        ("quantiles", {"value": "v", "window": {"type": "slidng", "size": "5m"}}, "sliding"),
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
    assert caught.value.hint == "Did you mean count_min?"


def test_a_parameter_that_is_only_somewhat_alike_is_for_the_engine_to_refuse(sde) -> None:
    with pytest.raises(BadParameter, match="precision=9") as caught:
        sde.create("count_min", dataset="d", key="k", precision=9)
    assert caught.value.hint == "Did you mean epsilon?"


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
    assert caught.value.hint == "Did you mean frequency?"
    with pytest.raises(BadQuery) as caught:
        sde.estimate("u", keys="a")
    assert caught.value.hint == "Did you mean key?"


def test_the_text_of_a_refusal_has_the_hint(sde) -> None:
    with pytest.raises(UnknownKind, match=r"expected one of .*\. Did you mean hyperloglog\?$"):
        sde.create("hyperlog", dataset="d", key="k")
    counts = sde.create("count_min", dataset="d", key="k")
    with pytest.raises(BadQuery, match=r"query\.kee=.*\. Did you mean key\?$"):
        counts.estimate(kee="a")


@pytest.mark.parametrize(
    ("arguments", "meant"), [({"evry": "1s"}, "every"), ({"every": "1s", "strem": "s"}, "stream")]
)
def test_a_misspelt_keyword_is_named_whatever_the_kind_is(arguments, meant) -> None:
    transport = InMemoryTransport()
    with pytest.raises(BadInput, match=rf"^(evry|strem): .*Did you mean {meant}\?$"):
        Client(transport).watch("u", key="a", **arguments)
    assert transport.requests == []
    Client(transport).estimate("u", query={"strem": "s"})  # an argument of a plug-in's question
    assert transport.requests[0]["query"] == {"strem": "s"}


def test_a_keyword_that_the_engine_misses_is_looked_for_among_the_arguments() -> None:
    fault = {"status": "error", "code": "bad_request", "message": "no", "field": "every"}
    sde = Client(InMemoryTransport(lambda request: fault if request["op"] == "watch" else {}))
    of_plugin = sde.create("speeding@2", dataset="d")
    with pytest.raises(BadRequest, match=r"no\. evry: did you mean every\?"):
        of_plugin.watch(evry="1s")


def test_a_misspelt_argument_is_named_where_another_is_missing() -> None:
    sde = Client(InMemoryTransport())
    with pytest.raises(BadInput, match=r"^create: .*'dataset'\. datset: Did you mean dataset\?$"):
        sde.create("count_min", datset="M", key="k")
    with pytest.raises(BadInput, match=r"^create: .*'dataset'"):
        sde.create("count_min", key="k")


def test_a_misspelt_request_is_named_right() -> None:
    fault = {"status": "error", "code": "unknown_op", "message": "no", "field": "op"}
    with pytest.raises(Exception, match="no") as caught:
        Client(InMemoryTransport(lambda request: fault)).submit("estimat", uid="u").result()
    assert caught.value.hint == "Did you mean estimate?"


def test_the_keywords_that_are_suggested_are_those_of_the_methods() -> None:
    beside = {"self", "synopses", "question", "arguments"}
    for keywords, method in ((OF_ESTIMATE, Client.estimate), (OF_WATCH, Client.watch)):
        assert keywords == set(inspect.signature(method).parameters) - beside


def test_names_of_a_plugin_are_left_to_the_engine() -> None:
    transport = InMemoryTransport()
    handle = Client(transport).create("speeding@2", dataset="d", keyy="x", limit=50)
    handle.estimate("fastes", strem="s")
    assert [each["op"] for each in transport.requests] == ["create", "estimate"]


def test_a_question_is_only_suggested_if_the_kind_has_it() -> None:
    """Of a plug-in only the engine knows the questions: its fault names them."""
    fault = {
        "status": "error",
        "code": "bad_query",
        "field": "query.type",
        "message": "query.type='countz': expected one of counts, seen",
    }
    sde = Client(InMemoryTransport(lambda _: [fault]))
    with pytest.raises(BadQuery, match=r"Did you mean counts\?"):
        sde.synopsis("u").estimate("countz")
