"""Messages of a source become blocks: its records are read, then mapped to tuples.

    messages ── reader of the format ──> tables ── mapping ──> tuples ──> blocks

What cannot be read, or makes no tuple, becomes a dead letter with the reason.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from sde.decoding.arrow_tables import read_arrow
from sde.decoding.avro_tables import read_avro, read_framed_avro
from sde.decoding.csv_tables import read_csv
from sde.decoding.debezium import Changes, envelope_paths, open_envelopes
from sde.decoding.decoded import Decoded, taken
from sde.decoding.json_tables import read_json
from sde.decoding.letters import Letters
from sde.decoding.limits import Limits
from sde.decoding.mapping import Mapper
from sde.decoding.messages import Messages
from sde.decoding.protobuf_tables import read_framed_protobuf
from sde.decoding.schemas import Schema, Schemas
from sde.decoding.sizes import sizes_checked
from sde.decoding.table import Table
from sde.tuples.block import OFFSET_ROOM, Block
from sde.tuples.needs import NeedsByDataset


def decode_records(
    messages: Messages,
    mapper: Mapper,
    shards: int,
    limits: Limits,
    wanted: NeedsByDataset | None,
    schemas: Schemas,
) -> Decoded:
    """The tuples of all messages, as blocks for each shard; `wanted` is what is kept of them.

    `schemas` looks up the schemas of records that name one. Never raises because of what a message
    holds; what `schemas` raises because nobody answers it passes on.
    """
    letters = Letters(messages, limits)
    fields = None if wanted is None else wanted.of(mapper.dataset).fields
    blocks: list[Block] = []
    checked = sizes_checked(messages, limits, letters)
    for which in _near(messages, checked):
        for table in _tables(messages, which, mapper, limits, letters, fields, schemas):
            changes = Changes(added=table)
            if mapper.mapping.changes is not None:
                changes = open_envelopes(table, messages, letters)
            for rows, removes in ((changes.added, False), (changes.removed, True)):
                if rows:
                    tuples = mapper.tuples(rows, messages, limits, letters, fields, removes=removes)
                    blocks += tuples.blocks(shards, wanted)
    sizes = taken(mapper.mapping.format, messages, checked, blocks)
    return Decoded(blocks, letters.sorted(), [sizes] if sizes.messages else [])


def _near(messages: Messages, which: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """The messages in runs whose offsets are near enough for a block; nearly always one."""
    while len(which):
        offsets = messages.offsets[which]
        end = int(np.searchsorted(offsets, offsets[0] + OFFSET_ROOM))
        yield which[:end]
        which = which[end:]


def _tables(
    messages: Messages,
    which: NDArray[np.int64],
    mapper: Mapper,
    limits: Limits,
    letters: Letters,
    fields: frozenset[str] | None,
    schemas: Schemas,
) -> Iterator[Table]:
    mapping, paths = mapper.mapping, mapper.paths(fields)
    if mapping.changes is not None:
        paths = envelope_paths(paths)
    match mapping.format:
        case "json" | "lines":
            lines = mapping.format == "lines"
            return read_json(
                messages, which, paths, limits, letters, each=mapping.each, lines=lines
            )
        case "csv":
            names = None if mapping.columns is None else tuple(mapping.columns)
            return read_csv(messages, which, paths, limits, letters, names, mapping.delimiter)
        case "arrow":
            return read_arrow(messages, which, paths, limits, letters)
        case "avro" if mapping.schema is not None:
            schema = Schema("AVRO", mapping.schema)
            return read_avro(messages, which, paths, limits, letters, schema)
        case "avro":
            return read_framed_avro(messages, which, paths, limits, letters, schemas)
        case "protobuf":
            return read_framed_protobuf(messages, which, paths, limits, letters, schemas)
        case "tuples":
            raise AssertionError("tuples are not mapped")
        case never:
            assert_never(never)
