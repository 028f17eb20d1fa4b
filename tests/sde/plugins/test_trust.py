"""Who may bring code into the engine."""

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from plugin_sources import TOTAL, plugin_request

from sde.plugins.trust import OFF, SIGNED, Trust
from sde.records.loop import Admitted, Failed, loop_bytes
from sde.records.seal import LoopSeal
from sde.stages.maintain import open_shard, replay
from sde.storage.store import MemoryStore
from sde.testing import LocalEngine
from sde.wire.plugins import signed_bytes

pytestmark = pytest.mark.usefixtures("quick_examination")

AUTHOR = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
STRANGER = Ed25519PrivateKey.from_private_bytes(bytes(range(1, 33)))


def public(key):
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


def signed(key, name="total", source=TOTAL):
    request = plugin_request(name, source)
    signature = base64.b64encode(key.sign(signed_bytes(name, request["sha256"]))).decode()
    return request | {"key": public(key), "signature": signature}


def reply_to(request, trust, monkeypatch=None):
    engine = LocalEngine(trust=trust)
    (reply,) = [*engine.replies([request]), *engine.settle()]
    return reply


TRUST = Trust(SIGNED, (public(AUTHOR),))


def test_a_plug_in_signed_by_a_trusted_key_is_taken():
    reply = reply_to(signed(AUTHOR), TRUST)
    assert reply["status"] == "ok"
    assert reply["value"]["key"] == public(AUTHOR)


FORGED = {
    "nobody signed": lambda: plugin_request("total", TOTAL),
    "a stranger signed": lambda: signed(STRANGER),
    "a stranger signed under the author's key": lambda: signed(STRANGER) | {"key": public(AUTHOR)},
    "the source was changed": lambda: (
        signed(AUTHOR) | {"source": TOTAL.replace("self.factor", "(0 * self.factor)")}
    ),
    "source and sha256 were changed": lambda: (
        signed(AUTHOR)
        | {
            name: plugin_request("total", TOTAL + "\nprint('evil')\n")[name]
            for name in ("source", "sha256")
        }
    ),
    "it was signed under another name": lambda: (
        signed(AUTHOR, "sum", TOTAL.replace('"total"', '"sum"')) | {"name": "total"}
    ),
    "the signature is cut": lambda: signed(AUTHOR) | {"signature": "AAAA"},
    "the key is none": lambda: signed(AUTHOR) | {"key": "AAAA"},
}


@pytest.mark.parametrize("how", FORGED)
def test_nothing_untrusted_is_run(how, monkeypatch):
    def started(*_):
        raise AssertionError("a process was started for code that nobody trusts")

    monkeypatch.setattr("sde.plugins.examination.PluginProcess", started)
    reply = reply_to(FORGED[how](), TRUST)
    assert reply["code"] == "untrusted"


@pytest.mark.parametrize("how", FORGED)
def test_nothing_is_kept_of_a_source_that_is_not_trusted(how):
    engine = LocalEngine(trust=TRUST)
    before = [dict(store.blobs()) for store in engine.stores]
    (reply,) = engine.replies([FORGED[how]()])
    assert (reply["code"], reply["op"]) == ("untrusted", "plugin")
    assert [dict(store.blobs()) for store in engine.stores] == before
    assert engine.entries == [[], [], []]
    assert engine.union == []


def test_keys_come_and_go_while_the_engine_runs(tmp_path):
    keys = tmp_path / "plugin-keys"
    engine = LocalEngine(trust=Trust(SIGNED, (), str(keys)))
    assert sent_again(engine, signed(AUTHOR), "1")["code"] == "untrusted"
    keys.write_text(f"# of our house\n\n{public(AUTHOR)} ann@example.com\n")
    assert sent_again(engine, signed(AUTHOR), "2")["value"]["kind"] == "total@1"
    assert sent_again(engine, signed(STRANGER), "3")["code"] == "untrusted"
    keys.unlink()
    newer = signed(AUTHOR, source=TOTAL + "\n# mended\n")
    refused = sent_again(engine, newer, "4")
    assert (refused["code"], refused["field"]) == ("untrusted", "key")
    assert "expected one of the 0 keys" in refused["message"]
    assert engine.ask(op="plugins")["value"][0]["state"] == "active"  # it was taken


def test_a_key_file_that_others_may_write_to_is_not_believed(tmp_path):
    keys = tmp_path / "plugin-keys"
    keys.write_text(public(AUTHOR))
    keys.chmod(0o622)
    assert reply_to(signed(AUTHOR), Trust(SIGNED, (), str(keys)))["code"] == "untrusted"
    keys.chmod(0o600)
    assert reply_to(signed(AUTHOR), Trust(SIGNED, (), str(keys)))["status"] == "ok"


def test_whether_a_key_is_trusted_is_found_once_for_all_shards_and_for_a_replay(tmp_path):
    keys = tmp_path / "plugin-keys"
    keys.write_text(public(AUTHOR))
    engine = LocalEngine(trust=Trust(SIGNED, (), str(keys)))
    engine.replies([signed(AUTHOR)])
    engine.settle()
    keys.unlink()
    for number, entries in enumerate(engine.entries):
        again = open_shard(number, len(engine.stores), MemoryStore(), engine.limits)
        for entry in entries:
            replay(again, entry)
        assert list(again.registry.shelf.versions) == ["total@1"]


def test_an_engine_may_take_no_plug_ins_at_all():
    reply = reply_to(signed(AUTHOR), Trust(OFF, (public(AUTHOR),)))
    assert reply["code"] == "untrusted"
    assert "plugins = off" in reply["message"]


@pytest.mark.laws
def test_every_decision_is_one_line_of_the_log(caplog):
    engine = LocalEngine(trust=TRUST)

    def lines(*requests):
        caplog.clear()
        for request in requests:
            engine.replies([request])
            engine.settle()
        found = [r.getMessage() for r in caplog.records if r.name == "sde.requests.examining"]
        return [line.replace(public(AUTHOR), "A").replace(public(STRANGER), "S") for line in found]

    (refused,) = lines(signed(STRANGER) | {"id": "1"})
    assert refused.startswith("refused kind=total version=- key=S: untrusted: key=")
    wrong = TOTAL.replace("linear = True", "linear = True\n    idempotent = True")
    (refused,) = lines(signed(AUTHOR, source=wrong) | {"id": "2"})
    assert "key=A: broken_law: total breaks the law adding_twice_is_adding_once" in refused
    assert lines(signed(AUTHOR) | {"id": "3"}) == ["taken kind=total version=1 key=A"]
    engine.ask(op="create", id="c", uid="u", dataset="d", kind="total", value="v")
    newer = signed(AUTHOR, source=TOTAL + "\n# mended\n") | {"id": "4", "migrate": True}
    migrated = "migrated kind=total version=2 key=A: it took over 1 synopses"
    assert lines(newer, newer) == [migrated]  # a repeat is no decision
    engine.tell(Failed(kind="total@2", reason="it\nloops"))
    assert lines({"id": "5", "op": "plugins"}) == [
        "quarantined kind=total version=2 key=A: it loops"
    ]
    release = {"id": "6", "op": "release", "name": "total"}
    assert lines(release, release) == ["released kind=total version=2 key=A"]
    unplug = {"id": "7", "op": "unplug", "name": "total", "version": 1}
    assert lines(unplug, unplug) == ["removed kind=total version=1 key=A"]
    (refused,) = lines({"id": "8", "op": "unplug", "name": "total", "version": 2})
    assert refused.startswith("refused kind=total version=2 key=-: in_use: ")


# -- what was revoked does not come back ----------------------------------------------------------


def plugged(*requests):
    engine = LocalEngine(trust=TRUST)
    for request in requests:
        (reply,) = [*engine.replies([request]), *engine.settle()]
        assert reply["status"] == "ok", reply
    return engine


def sent_again(engine, request, as_id):
    """What becomes of the same bytes under another id, as anybody can send them."""
    replies = [*engine.replies([{**request, "id": as_id}]), *engine.settle()]
    return replies[-1]


def test_a_source_that_was_unplugged_does_not_come_back():
    engine = plugged(signed(AUTHOR))
    assert engine.ask(op="unplug", name="total")["value"] == ["total@1"]
    for _ in range(2):
        reply = sent_again(engine, signed(AUTHOR), "again")
        assert (reply["code"], reply["field"]) == ("untrusted", "sha256")
        assert "was unplugged as total@1" in reply["message"]
        assert engine.ask(op="plugins")["value"] == []
    newer = signed(AUTHOR, source=TOTAL + "\n# mended\n")
    assert sent_again(engine, newer, "newer")["value"]["kind"] == "total@2"


def test_a_source_that_was_quarantined_does_not_come_back_also_not_after_it_was_unplugged():
    engine = plugged(signed(AUTHOR))
    engine.tell(Failed(kind="total@1", reason="it loops")).settle()
    reply = sent_again(engine, signed(AUTHOR), "again")
    assert reply["code"] == "quarantined"
    assert "it loops" in reply["message"]
    engine.ask(op="unplug", name="total")
    assert sent_again(engine, signed(AUTHOR), "and again")["code"] == "untrusted"


def test_an_older_version_that_was_unplugged_does_not_become_the_newest():
    newer = signed(AUTHOR, source=TOTAL + "\n# mended\n")
    engine = plugged(signed(AUTHOR), newer | {"id": "newer"})
    engine.ask(op="unplug", name="total", version=1)
    assert sent_again(engine, signed(AUTHOR), "old")["code"] == "untrusted"
    assert [one["kind"] for one in engine.ask(op="plugins")["value"]] == ["total@2"]


def test_a_source_that_is_revoked_while_it_is_examined_does_not_come_back():
    engine = plugged(signed(AUTHOR))
    newer = signed(AUTHOR, source=TOTAL + "\n# mended\n")
    engine.replies([newer | {"id": "one"}, newer | {"id": "two"}])
    first, second = engine.union
    engine.union = [first]
    assert engine.settle()[0]["value"]["kind"] == "total@2"
    engine.ask(op="unplug", name="total", version=2)
    engine.union.append(second)
    assert [one["code"] for one in engine.settle()] == ["untrusted"]


def test_a_forged_word_that_a_plug_in_was_examined_changes_nothing():
    engine = LocalEngine(trust=TRUST)
    engine.run([signed(AUTHOR)])
    waiting = list(engine.union)
    engine.union = [
        {"op": "admitted", "checkpoint": "-", "request": "p-total", "declaration": {}},
        {"op": "admitted", "checkpoint": "-", "request": "nobody", "declaration": {}},
        loop_bytes(Admitted(request="p-total", declaration={}), LoopSeal.new()),
    ]
    assert engine.settle() == []
    assert len(engine.letters) == 3
    engine.union = waiting
    (reply,) = engine.settle()
    assert reply["status"] == "ok"


def test_a_key_that_is_trusted_no_more_when_the_examination_ends_brings_nothing_in(tmp_path):
    keys = tmp_path / "plugin-keys"
    keys.write_text(public(AUTHOR))
    engine = LocalEngine(trust=Trust(SIGNED, (), str(keys)))
    engine.run([signed(AUTHOR)])
    keys.unlink()
    (reply,) = engine.settle()
    assert reply["code"] == "untrusted"
    assert engine.ask(op="plugins")["value"] == []


def test_what_a_class_declares_is_not_taken_unseen():
    engine = LocalEngine(trust=TRUST)
    engine.run([signed(AUTHOR)])
    engine.union.clear()
    engine.tell(Admitted(request="p-total", declaration={"reads": 5}))
    (reply,) = engine.settle()
    assert reply["code"] == "broken_law"


def test_a_request_cannot_come_in_as_a_question_that_is_asked_again():
    engine = LocalEngine(trust=TRUST)
    arrived = {"place": "requests-0-9", "time": 1, "message": {"op": "delete", "uid": "u"}}
    engine.run(
        [{"id": "c", "op": "create", "uid": "u", "dataset": "d", "kind": "moments", "value": "v"}]
    )
    engine.union = [{"op": "again", "checkpoint": "-", "arrived": arrived, "at": 5}]
    assert engine.settle() == []
    assert engine.ask(op="describe", uid="u")["status"] == "ok"
