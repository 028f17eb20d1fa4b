import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import golden

from synopses import KINDS, from_bytes

STATES = sorted(golden.FOLDER.glob("*.state"))


def same(one: object, two: object) -> bool:
    """Equal JSON, numbers up to the last digits of a libm."""
    if isinstance(one, dict) and isinstance(two, dict):
        return one.keys() == two.keys() and all(same(one[key], two[key]) for key in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(same, one, two))
    if isinstance(one, float) and isinstance(two, float):
        return one == pytest.approx(two, rel=1e-9, abs=1e-9)
    return one == two


@pytest.mark.parametrize("path", STATES, ids=lambda path: path.stem)
def test_a_kept_state_is_read_and_written_back_byte_for_byte(path):
    data = path.read_bytes()
    assert from_bytes(data).to_bytes() == data


@pytest.mark.parametrize("path", STATES, ids=lambda path: path.stem)
def test_a_kept_state_still_gives_the_answers_of_its_day(path):
    kept = json.loads(path.with_suffix(".json").read_text())
    assert same(golden.answers_of(from_bytes(path.read_bytes())), kept)


def test_every_kind_has_a_kept_state_of_its_format():
    missing = [cls.kind for cls in KINDS.values() if not golden.path_of(cls, cls.format).exists()]
    assert missing == []
