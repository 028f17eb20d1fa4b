"""The transport over Kafka."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cached_property

import orjson
from confluent_kafka import KafkaError, KafkaException, Producer
from confluent_kafka import Message as KafkaMessage

from clients.errors import DeliveryFailed, Unreachable
from clients.kafka_config import KafkaSettings, data_config, request_config
from clients.topic_reader import SECONDS_TO_CONNECT, TopicReader, without_topic
from clients.transport import Message, OnDelivered, OnFailure, OnReply, Topics
from clients.tuples import encode

_SECONDS_A_POLL = 0.05


class KafkaTransport:
    """Requests, tuples and answers over the topics of an engine.

    `settings` go to librdkafka as they are: TLS, SASL, compression, whatever it knows. `why_silent`
    is called when no answer came in time: what is known about the engine, or "". A Kafka that does
    not answer at first is given up after `patience` seconds, 10 at most. `on_delivered` is called
    with topic, partition and offset of each message with tuples that the broker has, while others
    are sent or flushed; without it the broker's word is not waited for one by one.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        *,
        topics: Topics | None = None,
        settings: KafkaSettings | None = None,
        why_silent: Callable[[], str] = lambda: "",
        patience: float = SECONDS_TO_CONNECT,
        on_delivered: OnDelivered | None = None,
    ) -> None:
        self.topics = topics or Topics()
        self._on_delivered = on_delivered
        self._settings = {**(settings or {}), "bootstrap.servers": bootstrap_servers}
        self._why_silent = why_silent
        self._seconds_to_connect = min(patience, SECONDS_TO_CONNECT)
        self._reader: TopicReader | None = None
        self._listener: threading.Thread | None = None
        self._closing = threading.Event()
        self._undelivered = 0
        self._reason = ""

    def __repr__(self) -> str:
        return f"KafkaTransport({self._settings['bootstrap.servers']!r})"

    # -- requests and their answers -----------------------------------------------------------

    def listen(self, on_reply: OnReply) -> None:
        self._reader = TopicReader(
            self._settings, self.topics.output, seconds_to_connect=self._seconds_to_connect
        )
        _ = self._requests  # made here, so that the two threads share one
        self._listener = threading.Thread(
            target=self._listen, args=(self._reader, on_reply), name="sde-answers", daemon=True
        )
        self._listener.start()

    def _listen(self, reader: TopicReader, on_reply: OnReply) -> None:
        while not self._closing.is_set():
            payload = reader.poll(_SECONDS_A_POLL)
            self._requests.poll(0)  # for requests that could not be delivered
            reply = _object(payload) if payload else None
            if reply is not None:
                on_reply(reply)
        reader.close()

    def send_request(self, request: Message, on_failure: OnFailure) -> None:
        def undelivered(error: KafkaError | None, message: KafkaMessage) -> None:
            reason = error.str() if error is not None else "unknown"
            on_failure(DeliveryFailed(f"{request['op']} ({request['id']}): {reason}"))

        payload = encode(request)
        while True:
            try:
                self._requests.produce(self.topics.requests, payload, on_delivery=undelivered)
                return
            except BufferError:
                self._requests.poll(_SECONDS_A_POLL)
            except KafkaException as error:
                raise DeliveryFailed(f"{request['op']}: {error.args[0].str()}") from error

    def follow(self, watch_id: str, *, runs: bool) -> None:
        pass  # the output topic has the answers of all

    def leave(self, watch_id: str) -> None:
        pass

    def trouble(self) -> str:
        told = self._why_silent()
        if told:
            return told
        servers = self._settings["bootstrap.servers"]
        if self._reader is not None and self._reader.trouble:
            return f"Kafka at {servers} is in trouble: {self._reader.trouble}"
        if len(self._requests):
            return f"Kafka at {servers} has not taken it yet"
        topic = self.topics.requests
        return f"either no engine reads topic {topic!r} of Kafka at {servers}, or it is busy"

    @cached_property
    def _requests(self) -> Producer:
        return _producer(request_config(self._settings))

    # -- tuples -------------------------------------------------------------------------------

    def send_data(self, payload: bytes, *, lane: int) -> None:
        self._raise_undelivered()
        while True:
            try:
                self._data.produce(
                    self.topics.data, payload, partition=lane, on_delivery=self._note_delivery
                )
                self._data.poll(0)
                return
            except BufferError:  # the queue is full: wait until the broker has taken some of it
                self._data.poll(_SECONDS_A_POLL)
            except KafkaException as error:
                raise DeliveryFailed(
                    f"{len(payload)} bytes for topic {self.topics.data!r}: {error.args[0].str()}"
                ) from error

    def flush(self) -> None:
        # `message.timeout.ms` ends this: each message is delivered in time or fails. In short
        # waits, so that Ctrl-C is heard.
        while "_data" in self.__dict__ and self._data.flush(_SECONDS_A_POLL):
            pass
        self._raise_undelivered()

    @cached_property
    def _data(self) -> Producer:
        return _producer(data_config(self._settings, is_told_of_all=self._on_delivered is not None))

    @cached_property
    def lanes(self) -> int:
        """The partitions of the data topic, counted once.

        With partitions added later a stream would change its lane and could overtake itself.
        """
        topic, servers = self.topics.data, self._settings["bootstrap.servers"]
        try:
            found = self._data.list_topics(topic, self._seconds_to_connect).topics[topic]
        except KafkaException as error:
            raise Unreachable(f"Kafka at {servers}: {error.args[0].str()}") from error
        if found.error is not None:
            raise without_topic(topic, servers, found.error)
        return len(found.partitions)

    def _note_delivery(self, error: KafkaError | None, message: KafkaMessage) -> None:
        if error is not None:
            self._undelivered += 1
            self._reason = self._reason or error.str()
            return
        topic, partition, offset = message.topic(), message.partition(), message.offset()
        if self._on_delivered is not None and None not in (topic, partition, offset):
            self._on_delivered(topic, partition, offset)  # type: ignore[arg-type]

    def _raise_undelivered(self) -> None:
        if self._undelivered:
            count, reason = self._undelivered, self._reason
            self._undelivered, self._reason = 0, ""
            raise DeliveryFailed(
                f"{count} messages for topic {self.topics.data!r} were not delivered;"
                f" the first because: {reason}"
            )

    def close(self) -> None:
        self._closing.set()
        if self._listener is not None:
            self._listener.join()
        try:
            if "_requests" in self.__dict__:
                self._requests.flush(_SECONDS_A_POLL)
            self.flush()
        finally:  # a producer keeps its connections as long as anybody holds it
            for producer in ("_requests", "_data"):
                self.__dict__.pop(producer, None)


def _producer(config: dict[str, object]) -> Producer:
    try:
        return Producer(config)
    except KafkaException as error:
        raise Unreachable(f"Kafka's settings: {error.args[0].str()}") from error


def _object(payload: bytes) -> Message | None:
    """A message as an object; other programs may write to the topic too."""
    try:
        message = orjson.loads(payload)
    except orjson.JSONDecodeError:
        return None
    return message if isinstance(message, dict) else None
