"""The first request, sent by the service itself: when its reply is there, the engine is ready.

Until then Spark has planned, its workers have started and every stage has run once.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable

from confluent_kafka import Consumer, Producer, TopicPartition

from service.kafka.config import admin_config, consumer_config
from service.settings import Settings
from service.startup_errors import StartupError

_WARM_UP_DATASET = "sde warm-up"


def warm_up(
    settings: Settings, seconds: float, check: Callable[[], bool], *, with_tuple: bool
) -> None:
    """Send a request, and perhaps a tuple of no synopsis; return when the reply is there.

    Topics of others get no tuple: their other readers would wonder. Called in the driver. `check`
    is called while waiting and raises if the query has ended. While it returns False, because Kafka
    is away or the reason why a batch died is looked for, the time does not count.
    """
    topics = settings.topics
    consumer = Consumer(
        {
            **consumer_config(settings.kafka_config),
            "group.id": f"sde-warm-up-{uuid.uuid4().hex}",
            "auto.offset.reset": "latest",
        }
    )
    try:
        partitions = consumer.list_topics(topics.output, 30).topics[topics.output].partitions
        ends = [TopicPartition(topics.output, p) for p in partitions]
        for place in ends:
            place.offset = consumer.get_watermark_offsets(place, 30)[1]
        consumer.assign(ends)
        request = f"warm-up-{uuid.uuid4().hex}"
        # A Kafka that goes away meanwhile gets them when it is back.
        patient = {**admin_config(settings.kafka_config), "message.timeout.ms": 0}
        producer = Producer({**patient, "linger.ms": 0})
        if with_tuple:
            unused = {"dataset": _WARM_UP_DATASET, "stream": "s", "values": {"v": 1}}
            producer.produce(topics.data[0], json.dumps(unused))
        producer.produce(topics.requests, json.dumps({"id": request, "op": "list"}))
        producer.flush(30)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if not check():
                deadline = time.monotonic() + seconds
            message = consumer.poll(0.2)
            reply = message.value() if message is not None and message.error() is None else None
            if reply is not None and json.loads(reply).get("request") == request:
                return
    finally:
        consumer.close()
    raise StartupError(
        f"the engine did not answer its first question within {seconds:.0f} s; see "
        f"{settings.data_dir / 'logs' / 'spark.log'}"
    )
