"""TLS and SASL as librdkafka's settings ask for them, for connections of our own.

Python's `ssl` and two SASL mechanisms cover what nearly everybody uses. Whatever else the settings
name (key stores, Kerberos, OAuth, lists of ciphers) librdkafka does: see `fetch.best_way`.
"""

from __future__ import annotations

import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path

from service.kafka.config import KafkaSettings
from service.kafka.errors import AccessRefused
from service.kafka.scram import HASHES

_PROTOCOL, _USER, _PASSWORD = "security.protocol", "sasl.username", "sasl.password"
_MECHANISMS = ("sasl.mechanism", "sasl.mechanisms")  # two names of one setting
_CA_FILE, _CA_PEM = "ssl.ca.location", "ssl.ca.pem"
_CERTIFICATE_FILE, _CERTIFICATE_PEM = "ssl.certificate.location", "ssl.certificate.pem"
_KEY_FILE, _KEY_PEM, _KEY_PASSWORD = "ssl.key.location", "ssl.key.pem", "ssl.key.password"
_VERIFY, _HOST_NAMES = (
    "enable.ssl.certificate.verification",
    "ssl.endpoint.identification.algorithm",
)
_KNOWN = {
    *(_PROTOCOL, _USER, _PASSWORD, *_MECHANISMS, _CA_FILE, _CA_PEM, _VERIFY, _HOST_NAMES),
    *(_CERTIFICATE_FILE, _CERTIFICATE_PEM, _KEY_FILE, _KEY_PEM, _KEY_PASSWORD),
}
_ABOUT_SECURITY = ("ssl", "sasl", "security", "enable.ssl", "enable.sasl", "https")
_PROTOCOLS = ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl")
_SYSTEMS_OWN = ("", "probe")  # of ssl.ca.location: the authorities that the system trusts
PLAIN = "PLAIN"


@dataclass(frozen=True, slots=True)
class Login:
    """Who we are, and how that is shown: by PLAIN or by SCRAM."""

    mechanism: str
    user: str
    password: str


@dataclass(frozen=True, slots=True)
class Security:
    """What a connection begins with; None for what it does without."""

    tls: ssl.SSLContext | None = None
    login: Login | None = None


def is_ours(settings: KafkaSettings) -> bool:
    """Whether connections of our own can do what the settings ask for."""
    named = {name for name in settings if name.startswith(_ABOUT_SECURITY)}
    protocol, login = _protocol(settings), _login(settings)
    if protocol not in _PROTOCOLS or (protocol != "plaintext" and not named <= _KNOWN):
        return False
    if _has_login(protocol) and login.mechanism not in (PLAIN, *HASHES):
        return False
    return not _has_tls(protocol) or not _trusts_system(settings) or _system_has_authorities()


def security_of(settings: KafkaSettings) -> Security:
    """Of settings that are ours. AccessRefused if a file that they name cannot be used."""
    protocol = _protocol(settings)
    return Security(
        _tls(settings) if _has_tls(protocol) else None,
        _login(settings) if _has_login(protocol) else None,
    )


def _tls(settings: KafkaSettings) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.hostname_checks_common_name = True  # of a certificate without other names
    context.check_hostname = _text(settings, _HOST_NAMES, "https").lower() != "none"
    if _text(settings, _VERIFY, "true").lower() in ("false", "f", "0"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    try:
        _trust(context, settings)
        _show_certificate(context, settings)
    except (OSError, ValueError) as error:  # SSLError is an OSError
        named = ", ".join(name for name in sorted(_KNOWN) if name in settings and "ssl." in name)
        raise AccessRefused(
            f"Kafka settings {named}: a certificate or key cannot be used ({error}). They name "
            "files in PEM form that this user can read; a key's password is in ssl.key.password."
        ) from None
    return context


def _trust(context: ssl.SSLContext, settings: KafkaSettings) -> None:
    if _CA_PEM in settings:
        context.load_verify_locations(cadata=_text(settings, _CA_PEM))
    elif _trusts_system(settings):
        context.load_default_certs()
    else:
        place = Path(_text(settings, _CA_FILE))
        if place.is_dir():
            context.load_verify_locations(capath=str(place))
        else:
            context.load_verify_locations(cafile=str(place))


def _show_certificate(context: ssl.SSLContext, settings: KafkaSettings) -> None:
    """The client's own, for brokers that want one."""
    certificate = _pem(settings, _CERTIFICATE_FILE, _CERTIFICATE_PEM)
    key = _pem(settings, _KEY_FILE, _KEY_PEM)
    if not certificate:
        return
    # Python reads them from files only. This one is nobody else's and gone at once.
    with tempfile.NamedTemporaryFile("w", suffix=".pem") as file:
        file.write(f"{certificate}\n{key}\n")
        file.flush()
        context.load_cert_chain(file.name, password=_text(settings, _KEY_PASSWORD))


def _pem(settings: KafkaSettings, location: str, content: str) -> str:
    place = _text(settings, location)
    return Path(place).read_text() if place else _text(settings, content)


def _protocol(settings: KafkaSettings) -> str:
    return _text(settings, _PROTOCOL, "plaintext").lower()


def _has_tls(protocol: str) -> bool:
    return protocol.endswith("ssl")


def _has_login(protocol: str) -> bool:
    return protocol.startswith("sasl")


def _login(settings: KafkaSettings) -> Login:
    mechanisms = [_text(settings, name) for name in _MECHANISMS if name in settings]
    mechanism = mechanisms[0].upper() if len(mechanisms) == 1 else ""
    return Login(mechanism, _text(settings, _USER), _text(settings, _PASSWORD))


def _trusts_system(settings: KafkaSettings) -> bool:
    return _CA_PEM not in settings and _text(settings, _CA_FILE) in _SYSTEMS_OWN


def _system_has_authorities() -> bool:
    """Python may look for them elsewhere than librdkafka does, which tries many places."""
    places = ssl.get_default_verify_paths()
    return places.cafile is not None or places.capath is not None


def _text(settings: KafkaSettings, name: str, default: str = "") -> str:
    return str(settings.get(name, default))
