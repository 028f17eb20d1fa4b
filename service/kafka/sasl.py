"""The first requests on a connection to a broker that wants to know who we are."""

from __future__ import annotations

import struct

from service.kafka.broker_socket import BrokerSocket, UnusualAnswer
from service.kafka.errors import AccessRefused
from service.kafka.scram import Scram, ScramError
from service.kafka.security import PLAIN, Login

_HANDSHAKE, _AUTHENTICATE, _VERSION = 17, 36, 1
_NO_SUCH_MECHANISM = 33
_LARGEST = 1 << 20  # bytes of an answer that is believed
_NUMBER = 4  # bytes in front of an answer: of which request it is


def log_in(connection: BrokerSocket, login: Login) -> float:
    """For how many seconds the broker lets us in, infinity if it says nothing about that.

    AccessRefused if it does not, or if it is not the broker that has this user.
    """
    _agree(connection, login)
    if login.mechanism == PLAIN:
        return _answer(connection, login, f"\0{login.user}\0{login.password}".encode())[1]
    scram = Scram(login.mechanism, login.user, login.password)
    try:
        salt, _ = _answer(connection, login, scram.first())
        proof, lifetime = _answer(connection, login, scram.final(salt))
        scram.check(proof)
    except ScramError as error:
        raise AccessRefused(
            f"Kafka at {connection.address}: what it answers to {login.mechanism} of user "
            f"{login.user!r} cannot be trusted: {error}."
        ) from None
    return lifetime


def _agree(connection: BrokerSocket, login: Login) -> None:
    """On the mechanism."""
    name = login.mechanism.encode()
    connection.send(_HANDSHAKE, _VERSION, struct.pack(">h", len(name)) + name)
    answer = _Reader(connection)
    error, offered = answer.short(), [answer.text() for _ in range(answer.count())]
    if error == _NO_SUCH_MECHANISM:
        raise AccessRefused(
            f"Kafka at {connection.address} does not offer {login.mechanism}: set sasl.mechanism "
            f"to one of {', '.join(offered)}."
        )
    if error:
        raise AccessRefused(
            f"Kafka at {connection.address} refuses SASL (error {error}): does the listener at "
            "this port want it? See security.protocol."
        )


def _answer(connection: BrokerSocket, login: Login, message: bytes) -> tuple[bytes, float]:
    """(the broker's message, seconds of the session)"""
    connection.send(_AUTHENTICATE, _VERSION, struct.pack(">i", len(message)) + message)
    answer = _Reader(connection)
    error, why, reply, milliseconds = answer.short(), answer.text(), answer.blob(), answer.long()
    if error:
        raise AccessRefused(
            f"Kafka at {connection.address} refuses user {login.user!r} ({login.mechanism}: "
            f"{why or f'error {error}'}): check sasl.username, sasl.password and sasl.mechanism."
        )
    return reply, milliseconds / 1000 if milliseconds > 0 else float("inf")


class _Reader:
    """The next answer, field by field; UnusualAnswer when it ends too soon."""

    def __init__(self, connection: BrokerSocket) -> None:
        received, _ = connection.receive(_LARGEST)
        self._data, self._at = received.tobytes(), _NUMBER

    def short(self) -> int:
        return self._number(">h")

    def count(self) -> int:
        return self._number(">i")

    def long(self) -> int:
        return self._number(">q")

    def text(self) -> str:
        return self._piece(self.short()).decode(errors="replace")

    def blob(self) -> bytes:
        return self._piece(self.count())

    def _piece(self, size: int) -> bytes:
        """Empty if it is null."""
        start, self._at = self._at, self._at + max(size, 0)
        return self._data[start : self._at]

    def _number(self, form: str) -> int:
        try:
            (number,) = struct.unpack_from(form, self._data, self._at)
        except struct.error:
            raise UnusualAnswer("an answer of SASL that is too short") from None
        self._at += struct.calcsize(form)
        return int(number)
