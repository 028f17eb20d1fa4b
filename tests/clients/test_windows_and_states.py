"""Windows, lifetimes, spans, states and snapshots, over the in-memory transport."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from clients import BadInput, Client, InMemoryTransport
from sde.wire import Ask, Create, Export, Span, decode_request

NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)
NOON_MS = 1_704_110_400_000


def sent(act, value=None):
    """What the engine reads of the one request that `act` sends."""
    transport = InMemoryTransport(lambda request: {"value": value})
    act(Client(transport))
    (request,) = transport.requests
    return decode_request(request, "requests-0-0")


def test_a_window_and_lifetimes_are_sent_as_on_the_wire() -> None:
    window = {"type": "sliding", "size": "5m", "slide": "10s", "lateness": "30s", "time": "at"}
    request = sent(
        lambda sde: sde.create("fm", dataset="d", window=window, ttl="1d", idle="10m", bitmaps=64)
    )
    assert isinstance(request, Create)
    assert request.definition.window is not None
    assert request.definition.window.described() == {**window, "keep": "5m"}
    assert (request.lifetime, request.definition.idle) == (86_400_000, 600_000)
    assert request.definition.params == {"bitmaps": 64}


@pytest.mark.parametrize(
    ("window", "kind"),
    [
        ({"size": "5m", "slide": "10s"}, "sliding"),
        ({"size": 1000, "slide": 100}, "sliding"),
        ({"gap": "30s"}, "session"),
        ({"size": "5m"}, "tumbling"),
    ],
)
def test_a_slide_or_a_gap_tells_the_type_of_a_window(window, kind) -> None:
    request = sent(lambda sde: sde.create("fm", dataset="d", window=window))
    assert request.definition.window.type == kind


def test_durations_may_be_timedeltas() -> None:
    window = {"size": timedelta(minutes=5), "lateness": timedelta(seconds=1.5)}
    hour = timedelta(hours=1)
    request = sent(lambda sde: sde.create("fm", dataset="d", window=window, ttl=hour, idle=hour))
    assert (request.definition.window.size, request.definition.window.lateness) == (300_000, 1500)
    assert (request.lifetime, request.definition.idle) == (3_600_000, 3_600_000)


def test_a_window_by_count_has_numbers() -> None:
    window = {"type": "sliding", "size": 1000, "slide": 100}
    request = sent(lambda sde: sde.create("sample", dataset="d", window=window))
    assert (request.definition.window.count, request.definition.window.slide) == (True, 100)


def test_a_number_as_window_is_the_parameter_of_kinds_that_have_one() -> None:
    request = sent(lambda sde: sde.create("dft", dataset="d", window=128, basic_window=16))
    assert request.definition.window is None
    assert request.definition.params == {"window": 128, "basic_window": 16}


@pytest.mark.parametrize(
    "moment",
    [
        NOON_MS,
        NOON,
        NOON.replace(tzinfo=None),
        NOON.astimezone(timezone(timedelta(hours=2))),
        "2024-01-01T12:00:00",
        "2024-01-01T14:00:00+02:00",
    ],
)
def test_a_time_may_be_milliseconds_or_a_text_or_a_datetime(moment) -> None:
    asked = sent(lambda sde: sde.synopsis("u").estimate(end=moment, key="k"))
    assert isinstance(asked, Ask)
    assert (asked.span, asked.query) == (Span(NOON_MS), {"key": "k"})
    exported = sent(lambda sde: sde.synopsis("u").export(span=(0, moment)), value="")
    assert isinstance(exported, Export)
    assert exported.span == Span(NOON_MS, 0)


@pytest.mark.parametrize("window", [None, {}, {"end": 5}, "all"])
def test_an_answer_of_no_window_has_none(window) -> None:
    told = {"value": 1.0, "window": window}
    assert Client(InMemoryTransport(lambda request: told)).estimate("u").window is None


@pytest.mark.parametrize(
    "given",
    [
        {"end": 1.5},
        {"span": (0, 1.5)},
        {"span": (0,)},
        {"span": "01"},
        {"end": 5, "span": (0, 5)},
    ],
)
def test_a_time_that_is_not_clear_is_refused(given) -> None:
    transport = InMemoryTransport()
    with pytest.raises(BadInput, match="expected"):
        Client(transport).estimate("u", **given)
    assert transport.requests == []


def test_the_versions_that_are_kept_are_typed() -> None:
    told = {"uid": "u", "version": "v1", "kind": "fm", "dataset": "d", "scope": "stream"}
    told |= {"at": NOON_MS, "bytes": 512, "shards": 4}
    transport = InMemoryTransport(lambda request: {"value": [told]})
    sde = Client(transport)
    (found,) = sde.synopsis("u").snapshots()
    assert {name: getattr(found, name) for name in told.keys() - {"shards"}} == {
        name: value for name, value in told.items() if name != "shards"
    }
    assert found.raw == told
    assert sde.snapshots() == (found,)
    assert [request.get("uid") for request in transport.requests] == ["u", None]
