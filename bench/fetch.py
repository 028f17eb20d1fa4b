"""python -m bench.fetch: ns of processor time for each message that is fetched, by way and broker.

Every thread of this process counts, the broker's process does not. Best of several runs, which take
turns; the messages are JSON of about 114 bytes. The last lines say how many times as much the plain
way takes.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from confluent_kafka import Producer

from bench.secure_broker import SecureBroker
from service.kafka.config import KafkaSettings
from service.kafka.direct_consumer import DirectConsumer
from service.kafka.fetch import Way, close_idle, fetch
from service.kafka.plain_consumer import PlainConsumer
from service.kafka.topics import TopicSpec, ensure_topics

WAYS: dict[str, Way] = {"direct": DirectConsumer, "plain": PlainConsumer}
LISTENERS = {"plaintext": "PLAINTEXT", "TLS": "TLS", "TLS and SCRAM": "SECURE"}
CODECS = ("none", "lz4", "zstd")


def fill(settings: KafkaSettings, codec: str, count: int) -> None:
    ensure_topics(settings, [TopicSpec(codec)])
    tuning = {"compression.type": codec, "linger.ms": 50, "batch.size": 256 << 10}
    producer = Producer({**settings, **tuning, "queue.buffering.max.messages": 2 * count})
    for i in range(count):
        values = f'{{"StockID":"S{i % 997:04d}","price":{100 + i * 7919 % 10_000 / 100}}}'
        row = (
            f'{{"dataset":"Forex","stream":"S{i % 997:04d}","time":{10**12 + i},"values":{values}}}'
        )
        producer.produce(codec, row.encode(), partition=0)
    producer.flush()


def nanoseconds(settings: KafkaSettings, codec: str, count: int, way: Way) -> float:
    began = time.process_time()
    found = sum(len(messages) for messages in fetch(settings, codec, 0, 0, count, way=way))
    assert found == count
    return (time.process_time() - began) / count * 1e9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=500_000)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    best: dict[tuple[str, str, str], float] = {}
    with tempfile.TemporaryDirectory() as folder, SecureBroker(Path(folder)) as broker:
        for codec in CODECS:
            fill(broker.settings("PLAINTEXT"), codec, options.messages)
        for _ in range(options.runs + 1):  # the first opens connections, and is slower
            for security, listener in LISTENERS.items():
                for codec in CODECS:
                    for name, way in WAYS.items():
                        taken = nanoseconds(broker.settings(listener), codec, options.messages, way)
                        at = (security, codec, name)
                        best[at] = min(taken, best.get(at, taken))
        close_idle()
    for at, taken in best.items():
        print(f"{', '.join(at):30} {taken:7.0f} ns a message")
    for security, codec, _ in list(best)[:: len(WAYS)]:
        ratio = best[security, codec, "plain"] / best[security, codec, "direct"]
        print(f"{f'{security}, {codec}':30} {ratio:7.1f} times as much the plain way")


if __name__ == "__main__":
    main()
