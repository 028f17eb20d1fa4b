"""JSON and TOML of the pages are what our own decoders read."""

import json
from typing import Any

import numpy as np
import pytest

from clients import Answer
from sde.decoding import Limits, Messages, decode_tuples
from sde.infore import is_infore, translate
from sde.wire import Create, Definition, decode_request
from service.settings import Settings, load
from tests.docs.markdown_pages import blocks


def objects(text: str) -> list[dict[str, Any]]:
    """The JSON objects that stand one behind the other in a block."""
    found, decoder, at = [], json.JSONDecoder(), 0
    while at < len(text.rstrip()):
        one, at = decoder.raw_decode(text, at + len(text[at:]) - len(text[at:].lstrip()))
        found.append(one)
    return found


def as_messages(one: dict[str, Any]) -> Messages:
    payload = json.dumps(one).encode()
    buffer = np.frombuffer(payload + b"\n", np.uint8)
    ends, zeros = np.array([len(payload)]), np.zeros(1, np.int64)
    return Messages("sde-data", 0, buffer, zeros, ends, zeros, zeros)


def check(one: dict[str, Any], running: dict[str, Definition]) -> None:
    if "status" in one:
        if one["status"] == "ok":
            answer = Answer.of(one)
            assert answer.lower is None or answer.lower <= answer.value <= answer.upper
        else:
            assert {"code", "message"} <= one.keys()
    elif "op" in one:
        request = decode_request(one, "requests-0-1")
        assert request.op == one["op"]
    elif is_infore(one):
        meant = translate(one, "requests-0-1", running.get)
        assert meant
        running.update({m.uid: m.definition for m in meant if isinstance(m, Create)})
    else:
        decoded = decode_tuples(as_messages(one), 4, Limits())
        assert [len(block) for block in decoded.blocks] == [1]
        assert not decoded.letters


@pytest.mark.parametrize("block", blocks("json"), ids=str)
def test_json_is_what_the_engine_reads_or_writes(block):
    running: dict[str, Definition] = {}  # what earlier requests of the block created
    for one in objects(block.text):
        check(one, running)


@pytest.mark.parametrize("block", blocks("toml"), ids=str)
def test_toml_is_settings_of_the_service(block, tmp_path):
    path = tmp_path / "sde.toml"
    path.write_text(block.text)
    assert load(path, {}, {}) != Settings()
