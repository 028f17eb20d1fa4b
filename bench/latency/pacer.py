"""Tuples at a steady pace, one a message, from a process of its own.

`python -m bench.latency.pacer SERVERS TOPIC RATE SECONDS` prints the rate it reached.
"""

from __future__ import annotations

import os
import sys
import time

from bench.latency.sent_again import Repeater, record_batches, send
from bench.throughput.forms import one_a_message
from bench.throughput.topics import drop_topics, make_topic
from bench.throughput.tuples import make_tuples

_MESSAGES = 400_000  # that are sent again and again
_PAUSE = 0.005  # seconds, when enough was sent


def main() -> None:
    servers, topic, rate, seconds = sys.argv[1], sys.argv[2], *map(float, sys.argv[3:])
    once = f"{topic}-once-{os.getpid()}"  # several in one run: a name is not free at once again
    make_topic(servers, once)
    messages = [
        [{"value": parcel.payload} for parcel in one_a_message(part, lane, 0)]
        for lane, part in enumerate(make_tuples(_MESSAGES))
    ]
    send(servers, once, messages)
    parts = [
        record_batches(servers, once, partition, len(own)) for partition, own in enumerate(messages)
    ]
    drop_topics(servers, [once])
    rounds = list(zip(*parts, strict=False))
    with Repeater(servers, topic) as repeater:
        print("ready", flush=True)
        began, sent, number = time.monotonic(), 0, 0
        while (passed := time.monotonic() - began) < seconds:
            if sent >= rate * passed:
                time.sleep(_PAUSE)
                continue
            sent += repeater.send(rounds[number % len(rounds)])
            number += 1
        print(sent / (time.monotonic() - began), flush=True)


if __name__ == "__main__":
    main()
