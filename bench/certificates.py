"""Certificates for brokers of tests and measurements: an authority, and what it signs."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from cryptography.x509.oid import NameOID

_DAY = timedelta(days=1)


@dataclass(frozen=True)
class Signed:
    """Files in PEM form: a certificate, its key, and both together as Kafka wants them."""

    certificate: Path
    key: Path
    both: Path


class Authority:
    """Its own certificate is in `file`."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._key = ec.generate_private_key(ec.SECP256R1())
        own = self._certificate(self._key.public_key(), name, [], timedelta(days=3650), True)
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(own)

    def sign(
        self,
        name: str,
        hosts: list[str],
        valid: timedelta = 30 * _DAY,
        password: str = "",
    ) -> Signed:
        """For hosts by address or name; `valid` from now on may be negative: it was, yesterday."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._certificate(key.public_key(), name, hosts, valid, False)
        hidden = BestAvailableEncryption(password.encode()) if password else NoEncryption()
        secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, hidden)
        files = [self._folder / f"{name}{part}.pem" for part in ("", "-key", "-both")]
        for file, content in zip(files, (certificate, secret, secret + certificate), strict=True):
            file.write_bytes(content)
        return Signed(*files)

    def _certificate(
        self,
        key: ec.EllipticCurvePublicKey,
        name: str,
        hosts: list[str],
        valid: timedelta,
        is_authority: bool,
    ) -> bytes:
        now = datetime.now(UTC)
        signed = (
            x509.CertificateBuilder()
            .subject_name(_named(name))
            .issuer_name(_named(self._name))
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 10 * _DAY)
            .not_valid_after(now + valid)
            .add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        )
        if hosts:
            names = x509.SubjectAlternativeName([_host(host) for host in hosts])
            signed = signed.add_extension(names, critical=False)
        return signed.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
