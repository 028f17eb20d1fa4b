"""Requests are decoded from their declarations; faults name field, value and expectation."""

import typing

import pytest
from msgspec import structs

from sde.wire import OPS, Refusal, Request, decode_request, message_of

CREATE = {"op": "create", "id": "r", "uid": "u", "dataset": "D", "kind": "count_min"}
WINDOW = {"type": "sliding", "size": "5m", "slide": "10s", "time": "ts", "lateness": "30s"}
A_NAME = "a text of 1 to 512 characters"
A_DURATION = 'a duration such as "500ms", "30s", "5m", "2h" or "1d"'
TO = {"dataset": "D", "stream": "sym"}
MAPPED = {**TO, "time": "ts", "fields": {"a": "b * 2"}, "where": "b > 0", "each": "items"}
CSV = {**TO, "format": "csv", "columns": ["a", "sym"], "delimiter": ";"}
AVRO = {**TO, "format": "avro", "schema": "{}", "changes": "debezium"}
MESSAGES = [
    CREATE,
    {**CREATE, "params": {"epsilon": 0.1}, "key": "k", "value": ["v", "w"], "scope": "stream"},
    {**CREATE, "scope": {"stream": "s"}, "window": WINDOW, "time": "t", "ttl": "1d", "reuse": True},
    {**CREATE, "window": {"size": 100, "keep": 200}, "idle": "1h", "sites": "*", "deadline": "2s"},
    {**CREATE, "key": ["k", "l"], "where": "v > 0"},
    {"op": "delete", "id": "r", "uid": "u", "sites": ["a", "b"], "deadline": "1s"},
    {"op": "estimate", "id": "r", "uid": "u", "query": {"key": "a"}, "stream": "s", "end": 5},
    {"op": "estimate", "id": "r", "uids": ["u", "v"], "from": "2024-01-01T00:00:00Z", "to": 2**52},
    {"op": "estimate", "id": "r", "uid": "u", "stream": "*", "after": "s", "limit": 7},
    {"op": "estimate", "id": "r", "uid": "u", "stream": "*", "top": 7},
    {"op": "watch", "id": "r", "uid": "u", "every": "1s", "sites": "*", "drift": 5.0},
    {"op": "watch", "id": "r", "uid": "u", "on": "change", "threshold": "5%", "when": "> 5"},
    {"op": "watch", "id": "r", "uid": "u", "on": "change", "each": "key"},
    {"op": "estimate", "id": "r", "uid": "u", "sites": ["a"], "deadline": "1s"},
    {
        **{"op": "watch", "id": "r", "uids": ["u", "v"], "query": {"type": "union"}},
        **{"stream": "s", "every": "1s", "sites": ["a"], "deadline": "1s"},
    },
    {"op": "watch", "id": "r", "uid": "u", "every": "1s", "end": 5},
    {"op": "watch", "id": "r", "uid": "u", "every": "1s", "from": 5, "to": 6},
    {"op": "unwatch", "id": "r", "watch": "w"},
    {"op": "watches", "id": "r", "uid": "u", "dataset": "D", "after": "w", "limit": 7},
    {"op": "export", "id": "r", "uid": "u", "format": "datasketches"},
    {"op": "export", "id": "r", "uid": "u", "stream": "s", "end": 5},
    {"op": "export", "id": "r", "uid": "u", "from": 5, "to": 6},
    {"op": "import", "id": "r", "uid": "u", "state": "AAAA", "mode": "replace", "tuples": 7},
    {"op": "import", "id": "r", "uid": "u", "state": "AAAA", "stream": "s"},
    {"op": "list", "id": "r", "dataset": "D", "after": "u", "limit": 7},
    {"op": "describe", "id": "r", "uid": "u", "digest": True},
    {"op": "streams", "id": "r", "uid": "u", "after": "s", "limit": 7},
    {"op": "snapshot", "id": "r", "uid": "u", "version": "v1", "replace": True, "keep": 2},
    {"op": "restore", "id": "r", "uid": "u", "version": "v1", "as": "new"},
    {"op": "snapshots", "id": "r", "uid": "u"},
    {"op": "remove_snapshot", "id": "r", "uid": "u", "version": "v1"},
    {"op": "plugin", "id": "r", "name": "fence", "source": "x", "sha256": "0" * 64},
    {
        **{"op": "plugin", "id": "r", "name": "fence", "source": "x", "sha256": "0" * 64},
        "migrate": True,
        **{"key": "AAAA", "signature": "AAAA"},
    },
    {"op": "plugins", "id": "r"},
    {"op": "unplug", "id": "r", "name": "fence", "version": 2},
    {"op": "release", "id": "r", "name": "fence", "version": 2},
    {"op": "sites", "id": "r", "deadline": "3s"},
    {"op": "source", "id": "r", "name": "s", "topic": "t-*", **MAPPED, "from": {"0": 17}},
    {"op": "source", "id": "r", "name": "s", "topic": "t", **CSV, "from": "earliest"},
    {"op": "source", "id": "r", "name": "s", "topic": "t", **AVRO},
    {"op": "source", "id": "r", "name": "s", "topic": "t", "format": "tuples"},
    {"op": "preview", "id": "r", "topic": "t", **MAPPED, "limit": 5},
    {"op": "preview", "id": "r", "topic": "t", **CSV},
    {"op": "preview", "id": "r", "topic": "t", **AVRO},
    {"op": "unsource", "id": "r", "name": "s"},
    {"op": "sources", "id": "r"},
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: m["op"])
def test_a_request_is_written_as_it_was_read(message):
    assert message_of(decode_request(message, "elsewhere")) == message


def test_every_operation_is_among_them_with_every_field_at_least_once():
    assert {message["op"] for message in MESSAGES} == set(OPS)
    for cls in typing.get_args(Request):
        op = cls.__struct_config__.tag
        named = {name for message in MESSAGES if message["op"] == op for name in message}
        declared = {field.encode_name for field in structs.fields(cls)}
        assert declared | {"op"} == named, op


def test_a_field_that_is_null_counts_as_absent():
    nulls = {"key": None, "window": {**WINDOW, "keep": None}, "ttl": None, "reuse": None}
    assert decode_request({**CREATE, **nulls}, "p") == decode_request(
        {**CREATE, "window": WINDOW}, "p"
    )


def test_without_an_id_the_position_serves():
    assert decode_request({"op": "list"}, "requests-0-17").id == "requests-0-17"


@pytest.mark.parametrize("name", ["uid", "as", "version"])
def test_a_whole_number_stands_for_its_digits(name):
    message = {"op": "restore", "uid": "u", name: 1110}
    assert message_of(decode_request(message, "p"))[name] == "1110"


@pytest.mark.parametrize(
    ("message", "code", "text", "field"),
    [
        ({}, "bad_request", f"op=None: expected {A_NAME}", "op"),
        ({"op": "x"}, "unknown_op", f"op='x': expected one of {', '.join(OPS)}", "op"),
        ({"op": "create"}, "bad_request", f"uid=None: expected {A_NAME}", "uid"),
        ({"uid": [1.5]}, "bad_request", f"uid=[1.5]: expected {A_NAME}", "uid"),
        ({"uid": "u" * 600}, "bad_request", "uid='" + "u" * 76, "uid"),
        ({"kye": 1}, "bad_request", "unknown field 'kye': expected only dataset, deadl", "kye"),
        ({"window": 5}, "bad_request", "window=5: expected an object", "window"),
        (
            {"window": {"size": "x"}},
            "bad_request",
            f"size='x': expected {A_DURATION}",
            "window.size",
        ),
        ({"window": {"siz": 1}}, "bad_request", "unknown field 'window.siz'", "window.siz"),
        (
            {"window": {"size": "5s", "gap": "5s"}},
            "bad_request",
            "unknown field 'window.gap': expected only format, keep, lateness, size, skew, time",
            "window.gap",
        ),
        ({"window": {"size": 0}}, "bad_request", "a whole number of tuples from 1", "window.size"),
        ({"scope": "x"}, "bad_request", """scope='x': expected "dataset", "stream" or""", "scope"),
        ({"ttl": 5}, "bad_request", f"ttl=5: expected {A_DURATION}", "ttl"),
        ({"value": [1]}, "bad_request", "value=[1]: expected a field name or a list", "value"),
        ({"reuse": 1}, "bad_request", "reuse=1: expected true or false", "reuse"),
        ({"op": "estimate"}, "bad_request", "uid=None: expected the uid of a synopsis", "uid"),
        (
            {"op": "estimate", "uids": []},
            "bad_request",
            "uids=[]: expected a list of 1 to 1000 uids",
            "uids",
        ),
        (
            {"op": "estimate", "uid": "u", "from": 5},
            "bad_request",
            "to=None: expected milliseconds since the epoch or an ISO 8601 time",
            "to",
        ),
        ({"op": "watch", "uid": "u"}, "bad_request", "every=None: expected a duration", "every"),
        (
            {"op": "watch", "uid": "u", "on": "change", "threshold": True},
            "bad_request",
            'threshold=True: expected a number of at least 0, or a share such as "5%"',
            "threshold",
        ),
        (
            {"op": "import", "uid": "u", "state": "%"},
            "bad_request",
            "state='%': expected a state in base64, as export gives it",
            "state",
        ),
        (
            {"op": "delete", "uid": "u", "deadline": "5m"},
            "bad_request",
            "deadline='5m': expected at most 1m",
            "deadline",
        ),
    ],
)
def test_a_fault_names_the_field_its_value_and_what_was_expected(message, code, text, field):
    whole = message if "op" in message or not message else {**CREATE, **message}
    with pytest.raises(Refusal) as caught:
        decode_request(whole, "p")
    fault = caught.value.fault
    assert (fault.code, fault.field) == (code, field)
    assert text in fault.message
