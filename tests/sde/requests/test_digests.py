"""The same digest, whatever happens: cuts, shards, partitions, order of arrival and restarts."""

import functools

import numpy as np
import pytest
from exchanging import SCOPES, STREAMS, T0, asked, make, rows
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sde.limits import StateLimits
from sde.stages.maintain import open_shard, replay
from sde.testing import LocalEngine
from synopses import KINDS

LATE = {"lateness": "2m", "keep": "2m"}
TIMED = {
    "tumbling": {"type": "tumbling", "size": "10s", **LATE},
    "sliding": {"type": "sliding", "size": "20s", "slide": "5s", **LATE},
    "session": {"type": "session", "gap": "3s", **LATE},
}
COUNTED = {"count": {"type": "sliding", "size": 12, "slide": 4}}
PARTITIONS = (1, 2, 7)
DATA = rows(seed=3, count=100)
for _number, _row in enumerate(DATA):  # sums of such values as floats depend on their order
    _row["values"] |= {name: _row["values"][name] + _number / 7 for name in ("v", "x", "y", "z")}


def _fits(kind, scope, window):
    cls = KINDS[kind]
    if window is None:
        return cls.mergeable or scope != "dataset"
    return cls.mergeable and (window not in COUNTED or scope != "dataset")


def _creates(kinds, windows):
    """Every kind at every scope, without a window or with each of these."""
    named = {None: None, **TIMED, **COUNTED}
    return [
        make(f"{kind} {scope} {window}", kind, scope, window=named[window])
        for kind in kinds
        for window in windows
        for scope in SCOPES
        if _fits(kind, scope, window)
    ]


def _questions(creates):
    """What is asked of each synopsis: of each stream, about a window that closed where it has."""
    questions = []
    for create in creates:
        cls, window = KINDS[create["kind"]], create["window"] or {}
        query = next(
            cls.example_query(name)
            for name, q in cls.questions.items()
            if not (q.across or q.others)
        )
        end = {"end": T0 + 20_000} if isinstance(window.get("size"), str) else {}
        for of_stream in asked(create["scope"]):
            ask = {"op": "estimate", "uid": create["uid"], "query": query, **of_stream, **end}
            questions.append({"id": f"{create['uid']} of {of_stream}", **ask})
        questions.append({"id": f"d {create['uid']}", "op": "describe", "uid": create["uid"]})
    return questions


def _digests(engine, questions):
    """The digests of all answers and descriptions, by the ids of the questions."""
    replies = engine.replies(questions)
    replies += engine.settle()
    assert len(replies) == len(questions)
    found = {}
    for reply in replies:
        if reply["status"] == "ok":
            described = reply["value"] if reply["op"] == "describe" else reply
            found[reply["request"]] = described.get("digest")
        else:
            assert reply["code"] in ("unknown_stream", "bad_query"), reply
    return found


def _restarted(engine):
    """An engine whose shards are made from the log alone, as after a kill."""
    other = LocalEngine(shards=len(engine.stores))
    other.wiring, other.batch, other.wanted = engine.wiring, engine.batch, engine.wanted
    other.union, other._offsets = engine.union, engine._offsets
    other.entries = engine.entries
    for number, entries in enumerate(engine.entries):
        shard = open_shard(number, len(engine.stores), other.stores[number], StateLimits())
        for entry in entries:
            replay(shard, entry)
    return other


def _run(creates, batches, shards, kills=()):
    """`batches`: partition and messages of each. Digests after all of them; asked before, too."""
    engine, questions = LocalEngine(shards=shards), _questions(creates)
    for reply in engine.replies(creates):
        assert reply["status"] == "ok", reply
    for number, (partition, messages) in enumerate(batches):
        if number in kills:
            engine = _restarted(engine)
        engine.replies(data=messages, partition=partition, time=T0 + 100_000)
        if number == len(batches) // 2:  # what was merged for a question may serve a later one
            _digests(engine, questions)
    engine.settle()
    return _digests(engine, questions)


@functools.cache
def _reference(kinds, windows):
    creates = _creates(kinds, windows)
    return creates, _run(creates, [(0, DATA)], 1)


def _arrival(seed, partitions, keep_order, cuts=0):
    """The tuples in batches of one partition each; a stream stays in its partition if ordered."""
    rng = np.random.default_rng(seed)
    data = DATA if keep_order else [DATA[i] for i in rng.permutation(len(DATA))]
    of_stream = {stream: int(rng.integers(partitions)) for stream in STREAMS}
    queues = {}
    for row in data:
        home = of_stream[row["stream"]] if keep_order else int(rng.integers(partitions))
        queues.setdefault(home, []).append(row)
    batches, rng = [], np.random.default_rng([seed, cuts])
    while queues:
        partition = sorted(queues)[int(rng.integers(len(queues)))]
        count = int(rng.integers(1, 60))
        batches.append((partition, queues[partition][:count]))
        queues[partition] = queues[partition][count:]
        if not queues[partition]:
            del queues[partition]
    return batches


def _differences(found, expected):
    assert found.keys() == expected.keys()
    return [(name, found[name], expected[name]) for name in found if found[name] != expected[name]]


ORDER_FREE = tuple(k for k in KINDS if KINDS[k].order_free and "ids" not in KINDS[k].reads)
OTHERS = tuple(k for k in KINDS if k not in ORDER_FREE)
ARRIVALS = {
    "seed": st.integers(0, 2**32),
    "partitions": st.sampled_from(PARTITIONS),
    "shards": st.integers(1, 5),
    "kills": st.sets(st.integers(0, 5), max_size=2),  # before which batches
}
FEW = settings(
    max_examples=4, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


@pytest.mark.parametrize("windows", [(None,), tuple(TIMED)], ids=["plain", "windows"])
@given(**ARRIVALS)
@FEW
def test_order_free_kinds_have_one_digest_however_tuples_come(
    windows, seed, partitions, shards, kills
):
    creates, expected = _reference(ORDER_FREE, windows)
    batches = _arrival(seed, partitions, keep_order=False)
    assert not _differences(_run(creates, batches, shards, kills), expected)
    has_none = {name for name, digest in expected.items() if digest is None}
    assert has_none == ({n for n in expected if n.startswith("d ")} if windows[0] else set())


@pytest.mark.parametrize("windows", [(None,), (*TIMED, *COUNTED)], ids=["plain", "windows"])
@given(**ARRIVALS)
@FEW
def test_other_kinds_have_one_digest_of_a_stream_that_keeps_its_order(
    windows, seed, partitions, shards, kills
):
    kinds = tuple(k for k in OTHERS if k != "sample")
    creates, expected = _reference(kinds, windows)
    batches = _arrival(seed, partitions, keep_order=True)
    assert not _differences(_run(creates, batches, shards, kills), expected)
    of_dataset = {name for name in expected if " dataset " in name}
    described = {name for name in expected if name.startswith("d ") and windows[0]}
    assert {name for name, digest in expected.items() if digest is None} == of_dataset | described


@given(**ARRIVALS, cuts=st.integers(1, 2**32))
@FEW
def test_records_of_a_sample_are_known_by_their_places_so_that_cuts_do_not_matter(
    seed, partitions, shards, kills, cuts
):
    creates = _creates(("sample",), (None, "tumbling"))
    expected = _run(creates, _arrival(seed, partitions, True), 1)
    found = _run(creates, _arrival(seed, partitions, True, cuts), shards, kills)
    assert not _differences(found, expected)
    has_none = {name for name, digest in expected.items() if digest is None}
    assert has_none == {name for name in expected if name.startswith("d ") and "tumbling" in name}


def _engine(*creates, shards=3):
    engine = LocalEngine(shards=shards)
    for reply in engine.replies(creates):
        assert reply["status"] == "ok", reply
    engine.replies(data=DATA, time=T0 + 100_000)
    engine.settle()
    return engine


def test_the_digest_of_a_description_is_that_of_the_answers():
    engine = _engine(make("u", "count_min"), make("one", "quantiles", {"stream": "s1"}))
    for uid, query in (("u", {"key": "k1"}), ("one", {"q": 0.5})):
        answer = engine.ask(op="estimate", uid=uid, query=query)
        assert answer["digest"] == engine.ask(op="describe", uid=uid)["value"]["digest"]
        assert len(answer["digest"]) == 16


def test_one_tuple_more_is_another_digest():
    engine = _engine(make("u", "count_min"), make("each", "count_min", "stream"))
    before = [engine.ask(op="describe", uid=uid)["value"]["digest"] for uid in ("u", "each")]
    engine.replies(data=DATA[:1])
    after = [engine.ask(op="describe", uid=uid)["value"]["digest"] for uid in ("u", "each")]
    assert before[0] != after[0]
    assert before[1] != after[1]


def test_a_question_about_two_synopses_has_one_digest_of_both():
    engine = _engine(make("a", "count_min"), make("b", "count_min") | {"value": None})

    def digest(*uids):
        reply = engine.ask(op="estimate", uids=list(uids), query={"type": "inner_product"})
        return reply["digest"]

    assert digest("a", "b") == digest("a", "b") != digest("b", "a")


def test_large_states_have_a_digest_on_request():
    large = make("u", "count_min") | {"params": {"epsilon": 0.00002}}
    engine = _engine(large)
    assert "digest" not in engine.ask(op="estimate", uid="u", query={"key": "k1"})
    assert "digest" not in engine.ask(op="describe", uid="u")["value"]
    assert len(engine.ask(op="describe", uid="u", digest=True)["value"]["digest"]) == 16


def test_what_depends_on_the_spread_over_shards_has_no_digest():
    engine = _engine(make("u", "quantiles"), make("each", "dft", "stream"))
    assert "digest" not in engine.ask(op="estimate", uid="u", query={"q": 0.5})
    assert "digest" not in engine.ask(op="describe", uid="u", digest=True)["value"]
    across = engine.ask(op="estimate", uid="each", query={"type": "pairs"})
    assert across["status"] == "ok"
    assert "digest" not in across
    assert len(engine.ask(op="describe", uid="each")["value"]["digest"]) == 16


def test_lists_and_watches_have_no_digest():
    engine = _engine(make("u", "count_min"))
    assert "digest" not in engine.ask(op="list")["value"][0]
    watch = {"id": "w", "op": "watch", "uid": "u", "query": {"key": "k1"}, "on": "change"}
    engine.replies([watch], DATA[:5])
    answers = [reply for reply in engine.settle() if "number" in reply]
    assert answers
    assert not any("digest" in answer for answer in answers)
