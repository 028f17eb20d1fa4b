import json

import numpy as np
import pytest

from bench.accuracy.__main__ import main
from bench.accuracy.promise import PROMISES, Promise, examine, off_by
from bench.accuracy.report import write
from synopses import KINDS, Estimate


def promise_of(errors, **changes):
    made = {"kind": "k", "sentence": "s", "delta": 0.1, "inputs": ("x",)}
    made |= {"share_of_seeds": 1.0, "on_average": False, **changes}
    return Promise(measure=lambda kind, name, seeds: np.array(errors), **made)


def test_every_kind_has_a_promise_that_is_measured():
    assert {made.kind for made in PROMISES} == set(KINDS)


HARD = [made for made in PROMISES if made.sentence.startswith("hard: ")]


def test_every_kind_is_tried_with_extreme_numbers_and_its_smallest_parameters():
    assert {made.kind for made in HARD} == set(KINDS)
    merged = {made.kind for made in HARD if any(name.endswith("merged") for name in made.inputs)}
    assert merged == {kind for kind, cls in KINDS.items() if cls.mergeable}


@pytest.mark.parametrize("made", HARD, ids=lambda made: f"{made.kind}: {made.sentence[6:]}")
def test_promises_hold_with_extreme_numbers_tiny_parameters_and_merged_parts(made):
    for finding in examine(made, seeds=60):
        assert finding.kept, finding


@pytest.mark.parametrize(("broken", "kept"), [(0, True), (15, True), (25, False)])
def test_more_failures_than_promised_and_chance_allow_are_found(broken, kept):
    errors = [1.5] * broken + [0.5] * (100 - broken)
    (finding,) = examine(promise_of(errors), seeds=100)
    assert finding.broken == broken / 100
    assert finding.kept is kept


def test_a_standard_error_is_judged_by_the_mean_square():
    (kept,) = examine(promise_of([1.0, 1.0], on_average=True), seeds=100)
    (broken,) = examine(promise_of([1.5, 1.5], on_average=True), seeds=100)
    assert (kept.kept, broken.kept) == (True, False)


def test_distance_is_measured_in_the_bound_of_its_side():
    answer = Estimate(10.0, 8.0, 14.0)
    assert [off_by(answer, truth) for truth in (10, 8, 7, 12, 18)] == [0, 1, 1.5, 0.5, 2]


@pytest.mark.parametrize("kind", ["count_min", "dft", "lsh", "sample"])
def test_the_command_passes_for_kinds_that_keep_their_word(kind, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["bench.accuracy", "--seeds", "20", "--kind", kind])
    assert main() == 0
    assert "findings as promised" in capsys.readouterr().out.splitlines()[-1]


def test_results_are_written_as_table_data_and_picture(tmp_path):
    findings = list(examine(promise_of([0.5, np.inf]), seeds=2))
    write(findings, tmp_path)
    assert json.loads((tmp_path / "accuracy.json").read_text())[0]["worst"] is None
    assert "| k | s | x |" in (tmp_path / "accuracy.md").read_text()
    assert (tmp_path / "accuracy.png").read_bytes().startswith(b"\x89PNG")
