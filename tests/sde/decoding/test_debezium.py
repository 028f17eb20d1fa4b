"""Debezium's envelope: rows after a change; deleted ones apart; whatever else refused."""

import json

import naive_decoding as naive
import numpy as np
import pytest
from reading_tables import LIMITS, Read, flat, texts_of

from bench.fuzzing.avro_records import written
from sde.decoding.avro_tables import read_avro
from sde.decoding.debezium import envelope_paths, open_envelopes
from sde.decoding.letters import Letters
from sde.decoding.merging import columns_of_values
from sde.decoding.schemas import Schema
from sde.decoding.table import Table

ROW = [{"name": "id", "type": "long"}, {"name": "city", "type": ["null", "string"]}]
ENVELOPE = {
    "type": "record",
    "name": "Envelope",
    "fields": [
        {"name": "before", "type": ["null", {"type": "record", "name": "Value", "fields": ROW}]},
        {"name": "after", "type": ["null", "Value"]},
        {"name": "op", "type": "string"},
    ],
}


def opened(envelopes):
    """The rows that are added, those that are removed, and the letters, of envelopes as JSON."""
    messages = naive.messages([json.dumps(envelope).encode() for envelope in envelopes])
    rows = np.arange(len(envelopes))
    table = Table(columns_of_values([flat(e) for e in envelopes]), rows, rows * 0)
    letters = Letters(messages, LIMITS)
    changes = open_envelopes(table, messages, letters)
    return [*map(by_message, changes)], letters.sorted()


def by_message(table):
    return dict(zip(table.message_of.tolist(), texts_of(table), strict=True))


def change(op, before=None, after=None):
    return {"before": before, "after": after, "op": op, "source": {"table": "t"}}


CHANGES = [
    change("c", after={"id": 1, "city": "a"}),
    change("r", after={"id": 2, "city": None}),
    change("u", {"id": 2, "city": None}, {"id": 2, "city": "b"}),
    change("d", {"id": 1, "city": "a"}),
    change("d", None),
]
ADDED = {0: {"id": "1", "city": "a"}, 1: {"id": "2"}, 2: {"id": "2", "city": "b"}}
REMOVED = {3: {"id": "1", "city": "a"}, 4: {}}


@pytest.mark.parametrize(
    "wrap",
    [
        lambda e, i: e,
        lambda e, i: {"payload": e},
        lambda e, i: {"schema": {}, "payload": e} if i % 2 else e,
    ],
)
def test_rows_are_what_is_after_a_change_and_deleted_ones_what_was_before(wrap):
    changes, letters = opened([wrap(e, i) for i, e in enumerate(CHANGES)])
    assert changes == [ADDED, REMOVED]
    assert letters == []


def test_an_op_that_is_none_is_refused_alone_and_messages_of_the_database_are_passed_over():
    good = CHANGES[0]
    bad = [change("t"), {"after": {"id": 1}}, change("create"), change(""), {}]
    changes, letters = opened([good, *bad, change("m"), good])
    assert changes == [{0: ADDED[0], 7: ADDED[0]}, {}]
    assert [letter["offset"] - 1000 for letter in letters] == [1, 2, 3, 4, 5]
    assert letters[0]["message"] == "op='t': expected c, r, u or d, of Debezium"
    assert "op=missing" in letters[1]["message"]


def test_a_table_without_envelopes_has_no_rows():
    changes, letters = opened([{"id": 1}, {"id": 2}])
    assert (changes, len(letters)) == ([{}, {}], 2)


def test_the_paths_to_read_are_enough_for_avro():
    payloads = [written(ENVELOPE, e) for e in CHANGES]
    schema = Schema("AVRO", json.dumps(ENVELOPE))
    for wanted in (None, frozenset({"id"})):
        read = Read(read_avro, payloads, envelope_paths(wanted), schema=schema)
        messages = naive.messages(payloads)
        changes = open_envelopes(read.tables[0], messages, Letters(messages, LIMITS))
        names = wanted or {"id", "city"}
        for found, rows in zip(changes, (ADDED, REMOVED), strict=True):
            expected = {m: {n: t for n, t in r.items() if n in names} for m, r in rows.items()}
            assert by_message(found) == expected
