"""Errors of reading from and writing to Kafka.

* KafkaFailure
  - OffsetsLost       retention deleted messages that were still to be read
  - LogTooShort       the log ends before an offset already read: the topic was made anew
  - BrokerSilent      the broker gave no answer for as long as we are willing to wait
  - AccessRefused     TLS or SASL ends the connection: a certificate, a password, a mechanism
  - BatchDamaged      what the broker has stored is not what was sent to it
  - FetchFailed       the broker answered with an error that waiting does not cure
  - WriteFailed       replies could not be written, though the broker answers
  - RegistryAway      the schema registry gives no answer: waiting may help
  - RegistryRefused   it answers, but not with schemas: a wrong address, or wrong credentials
"""

from __future__ import annotations


class KafkaFailure(Exception):
    """Base class; catch this to catch everything raised in `service.kafka`."""


class OffsetsLost(KafkaFailure):
    def __init__(self, topic: str, partition: int, wanted: int, earliest: int) -> None:
        super().__init__(topic, partition, wanted, earliest)  # all four, so it survives pickle
        self.topic, self.partition = topic, partition
        self.wanted, self.earliest = wanted, earliest

    def __str__(self) -> str:
        return (
            f"Topic {self.topic!r}, partition {self.partition}: offset {self.wanted} is to be read "
            f"next, but retention has deleted everything before offset {self.earliest}. "
            f"Set on_lost to 'continue' to go on from offset {self.earliest} without the lost part."
        )


class LogTooShort(KafkaFailure):
    def __init__(self, topic: str, partition: int, wanted: int, latest: int) -> None:
        super().__init__(topic, partition, wanted, latest)
        self.topic, self.partition = topic, partition
        self.wanted, self.latest = wanted, latest

    def __str__(self) -> str:
        return (
            f"Topic {self.topic!r}, partition {self.partition}: everything before offset "
            f"{self.wanted} was already read, but the log ends at offset {self.latest}. "
            "Was the topic deleted and created again? "
            "Set on_lost to 'continue' to read the new log from its beginning."
        )


class BrokerSilent(KafkaFailure):
    pass


class AccessRefused(KafkaFailure):
    pass


class BatchDamaged(KafkaFailure):
    def __init__(self, topic: str, partition: int, offset: int) -> None:
        super().__init__(topic, partition, offset)
        self.topic, self.partition, self.offset = topic, partition, offset

    def __str__(self) -> str:
        return (
            f"Topic {self.topic!r}, partition {self.partition}: the batch at offset {self.offset} "
            "is damaged: its checksum (CRC-32C) is wrong. The disk or memory of the broker that "
            "leads the partition is the likely cause: let another replica lead it. If there is "
            "none, delete the records up to the end of the batch (kafka-delete-records) and set "
            "on_lost to 'continue'."
        )


class FetchFailed(KafkaFailure):
    pass


class WriteFailed(KafkaFailure):
    pass


class RegistryAway(KafkaFailure):
    def __init__(self, url: str, reason: str) -> None:
        super().__init__(url, reason)
        self.url, self.reason = url, reason

    def __str__(self) -> str:
        return f"The schema registry at {self.url} does not answer: {self.reason}."


class RegistryRefused(KafkaFailure):
    def __init__(self, url: str, path: str, status: int, reason: str) -> None:
        super().__init__(url, path, status, reason)
        self.url, self.path, self.status, self.reason = url, path, status, reason

    def __str__(self) -> str:
        return (
            f"The schema registry at {self.url} answered {self.path} with status {self.status}: "
            f"{self.reason}. Are its address and the credentials right?"
        )
