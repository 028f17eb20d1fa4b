"""The scanner takes exactly what the plain reader takes, and never leaves its arrays."""

import json
import os
import subprocess
import sys

import naive_decoding as naive
import pytest

from bench.fuzzing.rows import Rows
from sde.decoding import Limits, decode_tuples
from sde.decoding.path_tree import TupleTree
from sde.kernels import json_paths
from sde.tuples.needs import Needs, NeedsByDataset

LIMITS = Limits()


def assert_equals_the_naive_way(payloads, limits=LIMITS, wanted=None):
    messages = naive.messages(payloads)
    decoded = decode_tuples(messages, 4, limits, wanted)
    good, bad = naive.decode(messages, limits)
    assert naive.refused(decoded.letters) == bad
    if wanted is None:
        assert naive.tuples_of(decoded.blocks) == good
    return decoded


@pytest.mark.parametrize(
    "row",
    [
        b'{"dataset":"d","stream":"s","values":{,"a":1}}',
        b'{"dataset":"d","stream":"s","values":{ , "a":1}}',
        b'{"dataset":"d","stream":"s","values":{,}}',
        b'{"dataset":"d","stream":"s","values":{"a":1,}}',
        b'{"dataset":"d","stream":"s","values":{"a":1},}',
        b'{,"dataset":"d","stream":"s","values":{"a":1}}',
        b'{"dataset":"d","stream":"s","values":{:1}}',
        b'{"dataset":"d","stream":"s","values":{',
    ],
)
def test_what_is_no_json_is_refused_wherever_its_commas_stand(row):
    decoded = assert_equals_the_naive_way([row] * 3)
    assert [letter["code"] for letter in decoded.letters] == ["bad_json"] * 3


@pytest.mark.parametrize(
    "row",
    [
        b'{"dataset":"d","stream":"s","time":5,"values":{"time":1},"time":null}',
        b'{"dataset":"d","stream":"s","time":5,"values":{"time":1},"time":6}',
        b'{"dataset":"d","stream":"s","values":{"values":1},"values":{"a":2}}',
        b'{"dataset":"d","stream":"s","values":{"values":1},"values":3}',
        b'{"dataset":"d","stream":"s","values":{"a":1,"a":2}}',
        b'{"dataset":"d","stream":"s","a":1,"a":"x"}',
        b'{"dataset":"d","stream":"s","values":{"dataset":"x"},"dataset":"e","a":1}',
        b'{"dataset":"d","stream":"s","values":{"stream":"x","stream":"y"},"stream":"t"}',
    ],
)
def test_of_a_repeated_name_the_last_one_holds(row):
    assert_equals_the_naive_way([row] * 3)


@pytest.mark.parametrize(
    ("escaped", "plain"),
    [(rb"\\u00e9", rb"\u00e9"), (rb"a\"b", rb'a"b'), (rb"\n", b"\n"), (rb"\u0061", rb"a")],
)
def test_a_name_is_not_taken_for_another_one_that_is_written_as_what_its_escapes_mean(
    escaped, plain
):
    """The order of values differs, so that no shape is met: names are guessed."""
    rows = [
        b'{"dataset":"d","stream":"s","values":{"%s":1,"b":%s}}' % (name, value)
        for name in (escaped, escaped, plain, escaped, plain)
        for value in (b"2", b"[3]", b"{}", b"4")
    ]
    assert_equals_the_naive_way(rows)


def crowded(rounds, names):
    """A tuple with `values` many times, each with names of its own."""
    numbers = iter(range(rounds * names))
    objects = [
        '"values":{"values":1,' + ",".join(f'"n{next(numbers)}":1' for _ in range(names)) + "}"
        for _ in range(rounds)
    ]
    return f'{{"dataset":"d","stream":"s",{",".join(objects)}}}'.encode()


@pytest.mark.parametrize(("rounds", "names"), [(6, 990), (60, 990), (200, 3)])
def test_many_objects_of_values_with_ever_new_names_find_room_or_are_left(rounds, names):
    row = crowded(rounds, names)
    good = b'{"dataset":"d","stream":"s","values":{"n1":1}}'
    decoded = assert_equals_the_naive_way([good, row, good])
    assert decoded.letters == []


def test_a_tree_of_paths_that_is_full_takes_no_more():
    tree = TupleTree(None, Limits(max_fields=2, max_name=10))
    known = tree.paths()
    found = []
    for number in range(100):
        text = f"n{number}".encode()
        quoted = naive.messages([text + b'"']).buffer
        about = (json_paths.ROOT, False, 10, tree.arrays)
        found.append(json_paths.new_edge(quoted, 0, len(text), *about))
    taken = [edge for edge in found if edge != json_paths.FULL]
    assert found == [*taken, *[json_paths.FULL] * (100 - len(taken))]
    assert len(taken) >= 8
    assert tree.paths() == [*known, *(f"n{number}" for number in range(len(taken)))]


def test_names_that_are_long_in_bytes_leave_room_for_those_of_the_rows():
    """A name has at most so many characters, each of up to four bytes."""
    wanted = frozenset(chr(0x10000 + i) * LIMITS.max_name for i in range(LIMITS.max_fields))
    fields = {f"{'n' * 500}{i}": 1 for i in range(999)}
    row = json.dumps({"dataset": "d", "stream": "s", **fields, "values": {}}).encode()
    rows = [row, row.replace(b'"nnn', b'"mmm'), row.replace(b'"nnn', b'"ooo')]
    needs = NeedsByDataset({"d": Needs(wanted)})
    assert_equals_the_naive_way(rows, wanted=needs)


@pytest.mark.parametrize("limits", [LIMITS, Limits(max_fields=7, max_name=20)])
def test_fuzzed_messages_become_what_reading_them_one_by_one_gives(limits):
    assert_equals_the_naive_way(Rows(f"{limits}").messages(4000), limits)


def test_a_short_fuzz_in_the_checked_form_finds_no_difference():
    command = (
        "-m bench.fuzz_scanner --rows 30000 --records 20000 --frames 1000 --batches 10000 --seed 7"
    )
    run = subprocess.run(
        [sys.executable, *command.split()],
        env={**os.environ, "SDE_CHECKED_KERNELS": "1"},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert run.stdout.splitlines()[-1].endswith("seed 7: 0 differences")
