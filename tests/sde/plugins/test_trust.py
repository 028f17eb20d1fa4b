"""Who may bring code into the engine."""

import base64
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from plugin_sources import TOTAL, plugin_request

from sde.plugins.trust import OFF, SIGNED, Trust
from sde.records.loop import Admitted, Failed, loop_bytes
from sde.records.seal import LoopSeal
from sde.testing import LocalEngine
from sde.wire.plugins import signed_bytes

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


def test_an_engine_may_take_no_plug_ins_at_all():
    reply = reply_to(signed(AUTHOR), Trust(OFF, (public(AUTHOR),)))
    assert reply["code"] == "untrusted"
    assert "plugins = off" in reply["message"]


def test_every_decision_is_logged(caplog):
    reply_to(signed(AUTHOR), TRUST)
    reply_to(signed(STRANGER), TRUST)
    lines = [record.getMessage() for record in caplog.records]
    assert any("admitted" in line and public(AUTHOR) in line for line in lines)
    assert any("refused" in line and public(STRANGER) in line for line in lines)


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


def test_a_key_that_is_trusted_no_more_when_the_examination_ends_brings_nothing_in():
    engine = LocalEngine(trust=TRUST)
    engine.run([signed(AUTHOR)])
    engine.wiring = replace(engine.wiring, trust=Trust(SIGNED, ()))
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
