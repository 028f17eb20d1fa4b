"""Nothing a user sends may raise: the batch would be tried again and again."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sde.testing import LocalEngine
from synopses import KINDS

NUMBERS = st.one_of(
    st.sampled_from([0, 1, -1, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63), 2**64 - 1, 1e308, -1e308]),
    st.sampled_from([5e-324, 1e-9, 0.5, 1 - 1e-16, 1e15, 1e300]),
    st.integers(-100, 100),
    st.floats(allow_nan=False, allow_infinity=False),
)
ANYTHING = st.one_of(
    NUMBERS,
    st.none(),
    st.booleans(),
    st.text(max_size=5),
    st.lists(NUMBERS, max_size=2),
    st.dictionaries(st.text(max_size=3), NUMBERS, max_size=2),
)


@st.composite
def creates(draw):
    kind = draw(st.sampled_from(sorted(KINDS)))
    names = [*KINDS[kind].parameters, "colour"]
    params = draw(st.dictionaries(st.sampled_from(names), ANYTHING, max_size=3))
    return {"kind": kind, "params": params}


@given(creates(), st.sampled_from(["dataset", "stream", {"stream": "s"}]))
def test_any_parameters_get_one_reply(created, scope):
    engine = LocalEngine(shards=2)
    request = {"op": "create", "uid": "u", "dataset": "d", "key": "k", "value": "v", **created}
    replies = engine.run([{**request, "scope": scope}])
    assert len(replies) == 1


@pytest.mark.parametrize("levels", [33, 300, 900])
def test_a_request_nested_deeper_than_can_be_written_down_is_refused(levels):
    params = {"epsilon": json.loads("[" * levels + "]" * levels)}
    engine = LocalEngine(shards=2)
    reply = engine.ask(op="create", uid="u", dataset="d", kind="count_min", key="k", params=params)
    assert reply["code"] == "bad_json"
    assert "nested" in reply["message"]


def definition(kind):
    cls = KINDS[kind]
    told = cls.value_fields
    several = list("vwxy")[: told if isinstance(told, int) else getattr(cls.example(), told)]
    return {
        "id": "c",
        "op": "create",
        "uid": "u",
        "dataset": "d",
        "kind": kind,
        "key": "k" if cls.reads & {"keys", "texts"} else None,
        "value": several if "values" in cls.reads else None,
        "scope": "dataset" if cls.mergeable else "stream",
        "params": cls.example().params,
    }


TUPLES = st.lists(
    st.fixed_dictionaries(
        {"dataset": st.just("d"), "stream": st.sampled_from(["s", "t"])},
        optional={
            "time": st.one_of(st.integers(0, 10**14), st.sampled_from([1, 253402300799999])),
            "values": st.dictionaries(st.sampled_from("kvwxy"), ANYTHING, max_size=5),
        },
    ),
    max_size=20,
)


@pytest.mark.parametrize("kind", sorted(KINDS))
@settings(max_examples=25)
@given(data=TUPLES, queries=st.lists(st.dictionaries(st.text(max_size=4), ANYTHING), max_size=3))
def test_any_tuples_and_any_questions_are_survived(kind, data, queries):
    cls = KINDS[kind]
    engine = LocalEngine(shards=2)
    assert engine.run([definition(kind)])["c"]["status"] == "ok"
    with np.errstate(all="ignore"):
        engine.run(data=data)
        named = [cls.example_query(name) for name in cls.questions]
        asked = [*queries, *named, *({**q, **n} for q in queries for n in named)]
        requests = [
            {"id": f"{i} {target}", "op": "estimate", "uid": "u", "query": query, **target}
            for i, query in enumerate(asked)
            for target in ({}, {"stream": "s"})
        ]
        replies = engine.run(requests)
    assert len(replies) == len(requests)
    assert "internal" not in json.dumps([r.get("code") for r in replies.values()])
