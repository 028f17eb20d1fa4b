"""Where in a range of the request topic the first request stands that reads tuples."""

from __future__ import annotations

import orjson

from sde.wire.requests import NEED_NO_DATA
from service.engine.walk import Range
from service.kafka.config import KafkaSettings

_LARGEST = 64 << 10  # bytes: what is larger is not looked at
_NEED_NO_DATA = {cls.__struct_config__.tag for cls in NEED_NO_DATA}


def first_that_reads(kafka: KafkaSettings, asked: Range) -> int:
    """Its offset, or the end of the range. Runs in the driver, which knows no stage."""
    from service.kafka.fetch import fetch

    for messages in fetch(kafka, asked.topic, asked.partition, asked.start, asked.end):
        for index, offset in enumerate(messages.offsets.tolist()):
            if not _needs_no_data(messages.payload(index)):
                return int(offset)
    return asked.end


def _needs_no_data(payload: bytes) -> bool:
    if len(payload) > _LARGEST:
        return False
    try:
        request = orjson.loads(payload)
    except orjson.JSONDecodeError:
        return True  # it is no request
    return isinstance(request, dict) and request.get("op") in _NEED_NO_DATA
