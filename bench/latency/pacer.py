"""Tuples at a steady pace, one a message, from a process of its own.

`python -m bench.latency.pacer SERVERS TOPIC RATE SECONDS` prints the rate it reached.
"""

from __future__ import annotations

import sys
import time

from confluent_kafka import Producer

from bench.throughput.tuples import PARTITIONS, make_tuples, one_a_message

_STEP = 0.02  # seconds
_CHUNKS = 25  # of each partition, sent in turn
_CONFIG = {"linger.ms": 20, "batch.num.messages": 50_000, "delivery.report.only.error": True}


def main() -> None:
    servers, topic, rate, seconds = sys.argv[1], sys.argv[2], *map(float, sys.argv[3:])
    producer = Producer({"bootstrap.servers": servers, **_CONFIG})
    each = max(1, round(rate * _STEP / PARTITIONS))
    # Made once and sent again and again: the load is the engine's and the broker's, not ours.
    parts = make_tuples(int(1.1 * _CHUNKS * each * PARTITIONS))
    ready = [
        [{"value": parcel.payload} for parcel in one_a_message(part, lane, 0)]
        for lane, part in enumerate(parts)
    ]
    starts = range(0, _CHUNKS * each, each)
    chunks = [messages[start : start + each] for start in starts for messages in ready]
    print("ready", flush=True)
    began, sent, number = time.monotonic(), 0, 0
    while (passed := time.monotonic() - began) < seconds:
        if sent >= rate * passed:
            time.sleep(_STEP / 4)
            continue
        messages = chunks[number % len(chunks)]
        sent += producer.produce_batch(topic, messages, partition=number % PARTITIONS)
        number += 1
        producer.poll(0)
    producer.flush(30)
    print(sent / (time.monotonic() - began), flush=True)


if __name__ == "__main__":
    main()
