"""The forwarder: carries frames from this site's outbound topic to the topics of its peers.

Each peer has a thread, a position in the topic and a producer of its own: one that is down keeps
only its own messages waiting, and they wait in Kafka, not here. The position moves on after
delivery, so that a crash may deliver again, never lose; sites recognise what they have seen.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from sde.federation.frames import is_frame
from service.engine.follower import TopicFollower
from service.kafka.config import Config, admin_config, consumer_config
from service.peer_settings import Peer
from service.settings import Settings

_log = logging.getLogger(__name__)
_POLL_SECONDS = 0.2
_SECONDS_TO_ARRIVE = 10.0  # of frames at a peer that is up
_MOST_AT_ONCE = 100  # messages that are on their way to one peer
_HOPELESS = (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG)


class Forwarder:
    """All peers of an engine. Runs between `start` and `stop`.

    `checkpoint` is part of the names under which the positions are committed.
    """

    def __init__(self, settings: Settings, checkpoint: str) -> None:
        self._peers = [
            PeerForwarder(settings, checkpoint, name, peer) for name, peer in settings.peers.items()
        ]

    @property
    def sites(self) -> dict[str, bool]:
        """Whether each peer takes what is sent to it, as far as that was tried lately."""
        return {peer.site: peer.is_up for peer in self._peers}

    def start(self) -> None:
        for peer in self._peers:
            peer.start()

    def stop(self) -> None:
        for peer in self._peers:
            peer.stopping.set()  # first, so that the threads end at the same time
        for peer in self._peers:
            peer.stop()


class PeerForwarder(TopicFollower):
    """The thread that carries the frames for one peer."""

    def __init__(self, settings: Settings, checkpoint: str, site: str, peer: Peer) -> None:
        kafka: Config = {
            **consumer_config(settings.kafka_config),
            "queued.min.messages": _MOST_AT_ONCE,
        }
        super().__init__(
            f"forwarder to {site}",
            settings.topics.outbound,
            kafka,
            group=f"{checkpoint}-to-{site}",
            first="beginning",
            poll_seconds=_POLL_SECONDS,
            most_at_once=_MOST_AT_ONCE,
        )
        self.site, self._peer = site, peer
        self._waiting_since: float | None = None  # frames that have not arrived
        self._producer_config: Config = {
            **admin_config(peer.kafka_config),
            "enable.idempotence": True,
            "message.timeout.ms": 0,  # a peer that is down is waited for
            "message.max.bytes": 32 << 20,
            "linger.ms": 0,
        }
        self._producer: Producer | None = None

    def on_poll(self, messages: list[Message]) -> bool:
        if not messages:
            return False
        frames = [message.value() or b"" for message in messages if self._is_for_peer(message)]
        if not frames:
            return True
        if self._waiting_since is None:
            self._waiting_since = time.monotonic()
        if not self._deliver(frames):
            return False
        self._waiting_since = None
        return True

    @property
    def is_up(self) -> bool:
        """False while frames wait for the peer's Kafka."""
        since = self._waiting_since
        return since is None or time.monotonic() < since + _SECONDS_TO_ARRIVE

    def _is_for_peer(self, message: Message) -> bool:
        return message.key() == self.site.encode() and is_frame(message.value() or b"")

    def _deliver(self, frames: list[bytes]) -> bool:
        """Whether all have arrived; KafkaException if they have to be sent again."""
        failures: list[KafkaError] = []

        def delivered(error: KafkaError | None, _: Message) -> None:
            if error is None:
                return
            if error.code() in _HOPELESS:
                _log.error("a message to %s was dropped: %s", self.site, error)
            else:
                failures.append(error)

        producer = self._producer or Producer(dict(self._producer_config))
        self._producer = None  # used again only if nothing is left in it
        try:
            for frame in frames:
                while not _is_taken(producer, self._peer.topic, frame, delivered):
                    if self.stopping.is_set():
                        return False
            while producer.flush(_POLL_SECONDS):
                if self.stopping.is_set():
                    return False
            if failures:
                raise KafkaException(failures[0])
            self._producer = producer
            return True
        finally:
            if self._producer is None:
                producer.purge()


def _is_taken(
    producer: Producer,
    topic: str,
    frame: bytes,
    delivered: Callable[[KafkaError | None, Message], None],
) -> bool:
    """Whether the producer has taken the frame; False when its buffer is full, for a while."""
    try:
        producer.produce(topic, frame, on_delivery=delivered)
    except BufferError:
        producer.flush(_POLL_SECONDS)
        return False
    return True
