"""A socket to a broker, perhaps under TLS, that carries requests and answers of any kind."""

from __future__ import annotations

import select
import socket
import ssl
import struct

import numpy as np
from numpy.typing import NDArray

from service.kafka.errors import AccessRefused

_CLIENT = b"sde"
_SECONDS = 10.0  # to wait for an answer
_SIZE = struct.Struct(">i")
_TLS_ALERT = b"\x15\x03"  # how it begins; as a size it would be of 350 MB
# Numbers of OpenSSL for what is wrong with a certificate.
_EXPIRED, _OTHER_HOSTS = {9, 10}, {62, 64}


class UnusualAnswer(Exception):
    """An answer that only librdkafka can deal with; the message says why."""


class BrokerSocket:
    """Answers come in the order of their requests. OSError when the broker is away."""

    def __init__(
        self, host: str, port: int, tls: ssl.SSLContext | None, seconds: float = _SECONDS
    ) -> None:
        self.address = f"{host}:{port}"
        self._number, self._is_plain = 0, tls is None
        try:
            self._socket = socket.create_connection((host, port), seconds)
        except UnicodeError as error:  # of a name that no host can have
            raise ConnectionError(f"{self.address}: {error}") from None
        try:
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if tls is not None:
                self._socket = tls.wrap_socket(self._socket, server_hostname=host)
        except ssl.SSLError as error:
            self._socket.close()
            raise self._refusal(error) from error
        except BaseException:
            self._socket.close()
            raise

    @property
    def has_ended(self) -> bool:
        """Whether the broker has closed it. To be asked when no answer is waited for."""
        look = select.poll()
        look.register(self._socket, select.POLLIN)
        return bool(look.poll(0))

    def send(self, kind: int, version: int, body: bytes) -> None:
        head = struct.pack(">hhih", kind, version, self._number, len(_CLIENT)) + _CLIENT
        self._number += 1
        try:
            self._socket.sendall(_SIZE.pack(len(head) + len(body)) + head + body)
        except ssl.SSLError as error:
            raise self._refusal(error) from error

    def receive(self, most: int, slack: int = 0) -> tuple[NDArray[np.uint8], int]:
        """(the next answer with `slack` bytes behind it, its size); UnusualAnswer if larger."""
        try:
            head = self._read(_SIZE.size, 0).tobytes()
            if head.startswith(_TLS_ALERT) and self._is_plain:
                raise AccessRefused(
                    f"Kafka at {self.address} speaks TLS: set security.protocol to SSL or SASL_SSL."
                )
            (size,) = _SIZE.unpack(head)
            if not 0 <= size <= most:
                raise UnusualAnswer(f"an answer of {size} bytes")
            return self._read(size, slack), size
        except ssl.SSLError as error:
            raise self._refusal(error) from error

    def close(self) -> None:
        self._socket.close()

    def _read(self, size: int, slack: int) -> NDArray[np.uint8]:
        received = np.empty(size + slack, np.uint8)
        view, at = received.data, 0
        while at < size:
            count = self._socket.recv_into(view[at:size])
            if not count:
                raise ConnectionError("the broker closed the connection")
            at += count
        return received

    def _refusal(self, error: ssl.SSLError) -> Exception:
        """What to raise for an error of TLS."""
        why = getattr(error, "verify_message", "") or error.reason or str(error)
        code = getattr(error, "verify_code", 0)
        if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
            return ConnectionError(f"the broker closed the connection ({why})")
        if code in _EXPIRED:
            remedy = "it is not valid now. Renew it, or set the clocks of the two machines right"
        elif code in _OTHER_HOSTS:
            remedy = (
                "it is for another host. Use a name that it has in bootstrap.servers and the "
                "broker's advertised.listeners, or set ssl.endpoint.identification.algorithm to "
                "'none'"
            )
        elif code:
            remedy = (
                "it is not signed by an authority that is trusted here. Name the file with that "
                "authority's certificate in ssl.ca.location"
            )
        else:
            return self._other_refusal(why)
        return AccessRefused(
            f"Kafka at {self.address}: the broker's certificate is refused ({why}): {remedy}."
        )

    def _other_refusal(self, why: str) -> Exception:
        if "ALERT" in why:
            remedy = (
                "it ends the TLS connection. If it wants a certificate of its clients, name it in "
                "ssl.certificate.location and its key in ssl.key.location"
            )
        elif why in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "HTTP_REQUEST"):
            remedy = "this port does not speak TLS. Name another port, or another security.protocol"
        else:
            return ConnectionError(f"an error of TLS: {why}")
        return AccessRefused(f"Kafka at {self.address} refuses us ({why}): {remedy}.")
