"""The client of the schema registry, against what a real one (Apicurio 3.3.3) said."""

import datetime as dt
import ipaddress
import socket
import ssl
import time
from collections import Counter
from contextlib import contextmanager
from threading import Thread

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from reading_tables import Read
from registry_server import SCHEMAS, UNKNOWN, numbers, replayed, serving

from bench.fuzzing.avro_records import written
from sde.decoding.avro_tables import read_framed_avro
from sde.decoding.protobuf_tables import read_framed_protobuf
from sde.decoding.schemas import Schema, UnknownSchema
from service.kafka.errors import RegistryAway, RegistryRefused
from service.kafka.registry import RegistrySettings, SchemaRegistry

LEG = {"type": "record", "name": "Leg", "fields": [{"name": "n", "type": "long"}]}


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")


class Asked:
    """Answers from a function, and counts the questions."""

    def __init__(self, answer):
        self.paths, self.headers, self._answer = Counter(), [], answer

    def __call__(self, path, headers):
        self.paths[path] += 1
        self.headers.append(headers)
        return self._answer(path, headers)


@contextmanager
def registry(answer, **settings):
    """A client of a server that answers so, and the pauses that it makes."""
    pauses = []
    with serving(answer) as url:
        found = SchemaRegistry(RegistrySettings(url + "/base/", **settings), pauses.append)
        found.pauses = pauses
        yield found


def from_base(path, headers):
    return replayed(path.removeprefix("/base"), headers)


def always(status, body=b"{}"):
    return lambda path, headers: (status, body)


def test_schemas_of_every_form_are_found_with_what_they_refer_to():
    texts = {subject: text for subject, _, text, _ in SCHEMAS}
    with registry(from_base) as found:
        for subject, form, text, references in SCHEMAS:
            expected = tuple((name, texts[other]) for name, other in references)
            assert found(numbers()[subject]) == Schema(form, text, expected)


def test_a_number_is_asked_for_once():
    asked = Asked(from_base)
    with registry(asked) as found:
        for _ in range(3):
            found(numbers()["trade-value"])
            with pytest.raises(UnknownSchema, match="not found"):
                found(UNKNOWN)
    assert set(asked.paths.values()) == {1}


def test_records_are_read_with_schemas_of_the_registry():
    number = numbers()["leg"]
    payloads = [b"\0" + n.to_bytes(4) + written(LEG, {"n": 5}) for n in (number, UNKNOWN)]
    with registry(from_base) as found:
        read = Read(read_framed_avro, payloads, schemas=found)
        order = b"\0" + numbers()["order-value"].to_bytes(4) + b"\0" + b"\x0a\x01x\x12\x02\x08\x07"
        bought = Read(read_framed_protobuf, [order], schemas=found)
    assert read.rows == [{"n": "5"}]
    assert read.refused == [(1, "unknown_schema")]
    assert bought.rows == [{"id": "x", "price.units": "7"}]


@pytest.mark.parametrize(
    ("settings", "header"),
    [
        ({}, None),
        ({"token": "t"}, "Bearer t"),
        ({"user": "ann", "password": "b:c"}, "Basic YW5uOmI6Yw=="),
    ],
)
def test_credentials_are_sent_and_never_shown(settings, header):
    asked = Asked(from_base)
    with registry(asked, **settings) as found:
        found(numbers()["leg"])
    assert asked.headers[0].get("Authorization") == header
    assert "b:c" not in repr(RegistrySettings("http://r", **settings))


@pytest.mark.parametrize("status", [500, 503, 429])
def test_a_registry_that_is_busy_is_asked_again_and_then_away(status):
    busy = 2

    def answer(path, headers):
        nonlocal busy
        busy -= 1
        return (status, b"busy") if busy >= 0 else from_base(path, headers)

    with registry(answer) as found:
        assert found(numbers()["leg"]).form == "AVRO"
        assert found.pauses == [0.25, 0.5]
    with registry(always(status)) as found, pytest.raises(RegistryAway, match=str(status)):
        found(1)


def test_a_registry_that_is_not_there_is_away():
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
    found = SchemaRegistry(RegistrySettings(address), pause=lambda seconds: None)
    with pytest.raises(RegistryAway, match="refused"):
        found(1)


@pytest.mark.parametrize("piece", [b"", b"HTTP/1.1 200 OK\r\n\r\n "])
def test_a_registry_that_says_nothing_or_never_ends_is_away(piece):
    def drip(connection):
        with connection:
            try:
                while True:
                    connection.sendall(piece)
                    time.sleep(0.02)
                    if not piece and not connection.recv(1000):
                        return
            except OSError:
                pass

    def serve():
        try:
            while True:
                Thread(target=drip, args=[server.accept()[0]]).start()
        except OSError:
            pass

    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=serve, daemon=True).start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        settings = RegistrySettings(url, timeout_seconds=0.2)
        with pytest.raises(RegistryAway):
            SchemaRegistry(settings, pause=lambda seconds: None)(1)
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (401, b'{"error_code": 401, "message": "Unauthorized"}', RegistryRefused),
        (403, b"", RegistryRefused),
        (404, b"<html>", RegistryRefused),
        (404, b'{"error_code": 404, "message": "no such page"}', RegistryRefused),
        (404, b'{"error_code": 40403, "message": "Schema 1 not found"}', UnknownSchema),
        (200, b"<html>", RegistryRefused),
        (200, b'{"id": 1}', RegistryRefused),
        (200, b'{"schema": 7}', RegistryRefused),
        (200, b'{"schema": "' + b"x" * (5 << 20) + b'"}', RegistryAway),
        (302, b"http://127.0.0.1:1/elsewhere", RegistryRefused),
    ],
)
def test_only_a_schema_that_is_not_there_refuses_messages(status, body, error):
    asked = Asked(always(status, body))
    with registry(asked, token="secret") as found, pytest.raises(error):
        found(1)
    assert set(asked.paths) == {"/base/schemas/ids/1"}


def test_references_in_a_circle_come_to_an_end():
    refers = b'{"schema": "s", "references": [{"name": "%s", "subject": "a/b", "version": 1}]}'
    asked = Asked(lambda path, headers: (200, refers % b"other"))
    with registry(asked) as found:
        assert found(1).references == (("other", "s"),)
    assert "/base/subjects/a%2Fb/versions/1" in asked.paths
    names = iter(range(1000))
    endless = registry(lambda path, headers: (200, refers % str(next(names)).encode()))
    with endless as found, pytest.raises(UnknownSchema, match="more than 100"):
        found(1)


def test_what_is_kept_is_bounded():
    asked = Asked(always(200, b'{"schema": "s"}'))
    with registry(asked) as found:
        for number in range(1001):
            found(number)
        found(0)
        found(1000)
    assert asked.paths["/base/schemas/ids/0"] == 2
    assert asked.paths["/base/schemas/ids/1000"] == 1


@pytest.mark.parametrize("url", ["registry:8081", "ftp://r", "file:///etc/passwd", "http://a:b@r"])
def test_an_address_that_is_none_is_told_at_once_without_its_password(url):
    with pytest.raises(ValueError, match="expected http") as caught:
        RegistrySettings(url)
    assert "a:b" not in str(caught.value)


@pytest.fixture
def certificate(tmp_path):
    """A file with a key and a certificate for 127.0.0.1 that it signed itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "registry")])
    now = dt.datetime.now(dt.UTC)
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(address, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path = tmp_path / "registry.pem"
    pem = serialization.Encoding.PEM
    path.write_bytes(key.private_bytes(pem, *form) + signed.public_bytes(pem))
    return str(path)


def test_a_certificate_is_believed_only_if_the_ca_file_vouches_for_it(certificate):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate)
    with serving(replayed, tls) as url:
        trusting = SchemaRegistry(RegistrySettings(url, ca_file=certificate))
        assert trusting(numbers()["leg"]).form == "AVRO"
        with pytest.raises(RegistryAway, match="CERTIFICATE_VERIFY_FAILED"):
            SchemaRegistry(RegistrySettings(url), lambda seconds: None)(1)
