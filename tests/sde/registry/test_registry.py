import pytest

from sde.limits import StateLimits
from sde.records.result import Done
from sde.registry.registry import Registry
from sde.wire import Definition, Refusal


def create(uid, *, reuse=False, kind="count_min", key="k", **fields):
    return {"uid": uid, "wanted": Definition("d", kind, key=key, **fields), "reuse": reuse}


def refused(registry, request):
    with pytest.raises(Refusal) as caught:
        registry.create(**request, since=0)
    return caught.value.fault


@pytest.fixture
def registry():
    return Registry(StateLimits(max_synopses=5))


def test_parameters_are_filled_in_so_that_equal_definitions_are_equal(registry):
    one, _ = registry.create(**create("a"), since=1)
    two, new = registry.create(**create("b", params={"epsilon": 0.01}, reuse=True), since=2)
    assert (two, new) == (one, False)
    assert one.uids == ["a", "b"]


def test_without_reuse_an_equal_definition_is_another_synopsis(registry):
    one, _ = registry.create(**create("a"), since=1)
    two, new = registry.create(**create("b"), since=2)
    assert new
    assert one.number != two.number


def test_the_last_uid_frees_what_reuse_shared(registry):
    registry.create(**create("a"), since=1)
    registry.create(**create("b", reuse=True), since=2)
    assert registry.delete("a")[1] is False
    assert registry.delete("b")[1] is True
    assert registry.instances == {}


def test_a_uid_is_taken_once_but_the_same_definition_may_come_again(registry):
    registry.create(**create("a"), since=1)
    assert registry.create(**create("a"), since=2)[1] is False
    fault = refused(registry, create("a", params={"epsilon": 0.5}))
    assert (fault.code, fault.field) == ("synopsis_exists", "uid")


@pytest.mark.parametrize(
    ("request_", "code", "field"),
    [
        (create("x", kind="nope"), "unknown_kind", "kind"),
        (create("x", params={"epsilon": 7}), "bad_parameter", "params.epsilon"),
        (create("x", params={"nope": 7}), "bad_parameter", "params.nope"),
        (create("x", params={"epsilon": 1e-6}), "limit_exceeded", "params"),
        (create("x", key=""), "bad_request", "key"),
        (create("x", values=("a", "b")), "bad_request", "value"),
    ],
)
def test_what_cannot_be_kept_is_refused_by_name(registry, request_, code, field):
    fault = refused(registry, request_)
    assert (fault.code, fault.field) == (code, field)


def test_the_number_of_synopses_is_limited(registry):
    for n in range(5):
        registry.create(**create(str(n)), since=0)
    assert refused(registry, create("one more")).code == "limit_exceeded"


def test_synopses_of_one_stream_each_share_a_layer_and_twins_do_not(registry):
    layers = [
        registry.create(**create(uid, scope="stream", stream=stream), since=0)[0].layer
        for uid, stream in (("a", "s1"), ("b", "s2"), ("c", "s1"))
    ]
    assert layers[0] == layers[1] != layers[2]


def test_facts_restore_it_and_what_it_decides(registry):
    registry.create(**create("a", scope="stream", stream="s"), since=1)
    registry.create(**create("b", scope="stream", stream="s", reuse=True), since=2)
    registry.remember("r-1", Done(uid="a"))
    again = Registry(StateLimits())
    for fact in registry.facts():
        again.apply(fact)
    assert list(again.facts()) == list(registry.facts())
    assert again.instances == registry.instances
    assert again.outcome("r-1") == Done(uid="a")
    assert again.create(**create("c", scope="stream", stream="s"), since=3)[0].level == 1


def test_old_outcomes_are_forgotten_first():
    registry = Registry(StateLimits(remembered_requests=2))
    for name in ("r1", "r2", "r3"):
        registry.remember(name, Done())
    assert [registry.outcome(n) is not None for n in ("r1", "r2", "r3")] == [False, True, True]


def test_numbers_of_snapshots_of_deleted_synopses_are_forgotten_after_a_while():
    registry = Registry(StateLimits(remembered_requests=10))
    for n in range(50):
        registry.create(**create(f"u{n}"), since=0)
        registry.keep_version(f"u{n}", 3)
        registry.delete(f"u{n}")
    assert registry.next_version("u49") == 4  # used again at once it goes on
    assert registry.next_version("u1") == 1
    assert sum(fact[0] == "version" for fact in registry.facts()) == 10
    registry.create(**create("u49"), since=0)
    registry.keep_version("u49", 4)
    again = Registry(StateLimits(remembered_requests=10))
    for fact in registry.facts():
        again.apply(fact)
    assert list(again.facts()) == list(registry.facts())
