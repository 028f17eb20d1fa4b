"""The obvious way to decode messages, row by row: what the fast way must equal."""

import re

import numpy as np
import orjson

from sde.decoding import Limits, Messages
from sde.decoding.plain import read_tuple
from sde.wire.faults import Refusal
from synopses.hashing import key_text

TIMESTAMP = 1_600_000_000_000
BLANKS = b" \t\r\n"


def messages(payloads, first_offset=1000, topic="data", partition=3):
    sizes = np.array([len(p) for p in payloads], np.int64)
    ends = np.cumsum(sizes + 1) - 1
    buffer = np.frombuffer(bytearray(b"".join(p + b"\n" for p in payloads)), np.uint8)
    offsets = np.arange(len(payloads), dtype=np.int64) + first_offset
    return Messages(topic, partition, buffer, ends - sizes, ends, offsets, offsets + TIMESTAMP)


def rows_of(payload):
    payload = payload.removeprefix(b"\xef\xbb\xbf")
    lines = payload.split(b"\n")
    first = next((line for line in lines if line.strip(BLANKS)), b"}")
    if len(lines) > 1 and not first.strip(BLANKS).endswith(b"}"):
        try:
            if isinstance(orjson.loads(payload), dict):
                lines = [payload]
        except orjson.JSONDecodeError:
            pass
    return [(i, line.strip(BLANKS)) for i, line in enumerate(lines) if line.strip(BLANKS)]


def decode(messages, limits=None):
    """({(offset, line): (dataset, stream, time, {field: text})}, {(offset, line): code})"""
    good, bad = {}, {}
    for i in range(len(messages)):
        offset = int(messages.offsets[i])
        for line, row in rows_of(messages.payload(i)):
            try:
                found = read_tuple(row, limits or Limits())
            except Refusal as refusal:
                bad[offset, line] = str(refusal.fault.code)
                continue
            time = offset + TIMESTAMP if found.time is None else found.time
            values = {n: key_text(v) for n, v in found.values.items() if v is not None}
            good[offset, line] = (found.dataset, found.stream, time, values)
    return good, bad


def tuples_of(blocks):
    """The same from blocks; fails if a tuple is there twice or out of order."""
    found = {}
    for block in blocks:
        places = []
        texts = {name: list(block.texts(name)) for name in block.fields}
        for i in range(len(block)):
            line = 0 if block.lines is None else int(block.lines[i])
            places.append((block.base + int(block.offsets[i]), line))
            values = {}
            for name, column in block.fields.items():
                if column.valid is None or column.valid[i]:
                    values[name] = texts[name][i]
            assert places[-1] not in found
            stream = block.streams[int(block.stream_of[i])]
            found[places[-1]] = (block.dataset, stream, int(block.times[i]), values)
        assert places == sorted(places)
    return found


def refused(letters):
    return {(letter["offset"], letter["line"]): letter["code"] for letter in letters}


def number(text):
    text = text.strip(" \t\n\v\f\r")
    if text in ("true", "false"):
        return float(text == "true")
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", text):
        return float("nan")
    value = float(text)
    return value if abs(value) != float("inf") else float("nan")
