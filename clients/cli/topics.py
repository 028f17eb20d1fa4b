"""topics and tail: what is in Kafka."""

from __future__ import annotations

import base64
from typing import Any

import click
import orjson
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from clients.cli.printing import print_json, print_table
from clients.cli.session import Session, connected
from clients.errors import Unreachable
from clients.kafka_config import admin_config
from clients.topic_reader import SECONDS_TO_CONNECT, TopicReader
from clients.transport import Message, Topics
from clients.wording import shown

_SECONDS_A_POLL = 0.2


@click.command()
@connected
def topics(session: Session) -> None:
    """List the topics with their partitions and messages.

    The numbers of messages include Kafka's own marks at the ends of transactions.
    """
    settings, names = session.kafka()
    roles = {getattr(names, role): role.replace("_", " ") for role in Topics.__slots__}
    try:
        admin = AdminClient(admin_config(settings))
        found = admin.list_topics(timeout=SECONDS_TO_CONNECT).topics
        sizes = _messages(admin, {name: list(topic.partitions) for name, topic in found.items()})
    except KafkaException as error:
        raise Unreachable(
            f"Kafka at {settings['bootstrap.servers']}: {error.args[0].str()}"
        ) from error
    rows = [
        {"topic": name, "role": roles.get(name, ""), "partitions": len(topic.partitions)}
        | {"messages": sizes[name]}
        for name, topic in sorted(found.items())
        if not name.startswith("__")  # Kafka's own
    ]
    if session.as_json:
        print_json(rows)
    else:
        print_table(["topic", "role", "partitions", "messages"], [list(r.values()) for r in rows])


def _messages(admin: AdminClient, partitions: dict[str, list[int]]) -> dict[str, int]:
    every = [TopicPartition(name, n) for name, numbers in partitions.items() for n in numbers]
    sizes = dict.fromkeys(partitions, 0)
    latest, earliest = OffsetSpec.latest(), OffsetSpec.earliest()  # type: ignore[no-untyped-call]
    for spec, sign in ((latest, 1), (earliest, -1)):
        asked = admin.list_offsets(dict.fromkeys(every, spec)) if every else {}
        for partition, future in asked.items():
            sizes[partition.topic] += sign * future.result(SECONDS_TO_CONNECT).offset
    return sizes


@click.command()
@click.option("--dead-letters", is_flag=True, help="Follow what was refused, instead of answers.")
@click.option("--from-beginning", is_flag=True, help="Show first what is there already.")
@click.option("--count", type=click.IntRange(min=1), help="End after this many messages.")
@connected
def tail(session: Session, dead_letters: bool, from_beginning: bool, count: int | None) -> None:
    """Follow the answers of the engine, until Ctrl-C."""
    settings, names = session.kafka()
    topic = names.dead_letters if dead_letters else names.output
    reader = TopicReader(settings, topic, from_beginning=from_beginning)
    seen = 0
    try:
        while count is None or seen < count:
            payload = reader.poll(_SECONDS_A_POLL)
            if payload is not None:
                seen += 1
                click.echo(payload if session.as_json else _line(payload))
    except KeyboardInterrupt:
        pass
    finally:
        reader.close()


def _line(payload: bytes) -> str:
    try:
        message: Any = orjson.loads(payload)
    except orjson.JSONDecodeError:
        message = None
    if not isinstance(message, dict):
        return payload.decode(errors="replace")
    return _dead_letter(message) if "excerpt" in message else _reply(message)


def _reply(message: Message) -> str:
    words = [message.get(name) for name in ("request", "op", "uid", "status")]
    if message.get("status") == "error":
        words += [f"{message.get('code')}: {message.get('message')}"]
    elif "value" in message:
        words += [message["value"]]
    elif "estimation" in message:  # of the INFORE dialect
        words = [message.get("relatedRequestIdentifier"), message.get("uid"), message["estimation"]]
    if message.get("lower") is not None or message.get("upper") is not None:
        words += [f"[{shown(message.get('lower'))} .. {shown(message.get('upper'))}]"]
    return "  ".join(shown(word) for word in words if word is not None)


def _dead_letter(message: Message) -> str:
    place = f"{message.get('topic')}[{message.get('partition')}]@{message.get('offset')}"
    excerpt = base64.b64decode(str(message["excerpt"])).decode(errors="replace")
    return (
        f"{place} line {message.get('line')}  {message.get('code')}: {message.get('message')}"
        f"  {excerpt[:80]!r}"
    )
