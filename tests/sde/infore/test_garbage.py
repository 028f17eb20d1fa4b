"""Whatever has a requestID becomes records or a refusal, and a reply that is JSON."""

import json

from hypothesis import given
from hypothesis import strategies as st

from sde.infore import (
    answer_of,
    belongs_in_log,
    logging_message,
    reply_key,
    translate,
)
from sde.wire import Code, Fault, Refusal, decode_request, message_of
from tests.sde.infore.old_programs import PROGRAMS

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**64), 2**70),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["0", "1", "-1", "0.5", "1e-300", "1e999", "9" * 50, "null", " 2 ", "__any__"]),
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=9) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)
KNOWN = [1, 2, 3, 4, 5, 6, 7, 100, 101, 200, 201, 202, 301, 1000]
NUMBERS = st.integers(0, 40) | JSON
RUNNING = st.none() | st.sampled_from([p.definition for p in PROGRAMS.values()])


@st.composite
def requests(draw):
    """Any object, often near to a good one: an add in which some entries were changed."""
    fields = {
        "requestID": st.sampled_from(KNOWN) | st.sampled_from(KNOWN).map(str) | JSON,
        "synopsisID": st.sampled_from(list(PROGRAMS)) | NUMBERS,
        "uid": st.integers(0, 9) | JSON,
        "dataSetkey": st.just("Forex") | JSON,
        "key": JSON,
        "streamID": JSON,
        "param": _params() | JSON,
        "noOfP": JSON,
        "externalUID": JSON,
        "else": JSON,
    }
    message = {name: draw(values) for name, values in fields.items() if draw(st.booleans())}
    return {"requestID": draw(fields["requestID"]), **message}


@st.composite
def _params(draw):
    program = draw(st.sampled_from(list(PROGRAMS.values())))
    entries = list(draw(st.sampled_from([program.add, program.ask])))
    for place in draw(st.lists(st.integers(0, 9), max_size=2)):
        if place < len(entries):
            entries[place] = draw(JSON)
    return entries[: draw(st.integers(0, 9))]


def outcome(message, running):
    try:
        return translate(message, "requests-0-17", lambda uid: running)
    except Refusal as refused:
        return refused.fault


@given(requests(), RUNNING)
def test_any_request_is_translated_or_refused_with_a_reason(message, running):
    found = outcome(message, running)
    if isinstance(found, Fault):
        assert found.code in Code
        assert 0 < len(found.message) < 1000
    for record in found if isinstance(found, list) else []:
        assert record.id.startswith("requests-0-17")
    if isinstance(found, list):
        again = [message_of(record) for record in found]
        assert [decode_request(one, "elsewhere") for one in again] == found


@given(requests(), RUNNING, JSON)
def test_any_request_gets_a_reply_that_is_json(message, running, value):
    found = outcome(message, running)
    told = {"id": "x", "request": "x", "op": None, "status": "ok", "batch": 1, "site": "here"}
    if isinstance(found, Fault):
        reply = {**told, **found.as_json()}
    else:
        op = found[-1].op if found else None
        reply = {**told, "op": op, **({"value": value} if op == "estimate" else {"value": []})}
    belongs_in_log(message, reply)
    texts = [answer_of(message, reply), logging_message(message, reply, 5), reply_key(message)]
    assert json.loads(json.dumps(texts)) is not None
