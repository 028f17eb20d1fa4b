"""A broker with a listener for each kind of TLS and SASL, for tests and measurements."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from bench.certificates import Authority
from service.broker.embedded import EmbeddedBroker
from service.broker.ports import free_ports
from service.kafka.config import Config

USER, PASSWORD = "ann,=", "its secret"
SESSION_MS = 2000  # of a login by PLAIN
_PLAIN_USER = USER.replace(",", "").replace("=", "")
# Listener, protocol of Kafka
_LISTENERS = {
    "TLS": "SSL",
    "MUTUAL": "SSL",
    "EXPIRED": "SSL",
    "LOGIN": "SASL_PLAINTEXT",
    "SECURE": "SASL_SSL",
    "UNUSUAL": "SASL_PLAINTEXT",  # it has but one mechanism
}
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
_SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
_TOKEN = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


class SecureBroker:
    """Also a PLAINTEXT listener, at the embedded broker's own address."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.authority, self.stranger = Authority(folder, "ca"), Authority(folder, "stranger")
        self.client = self.authority.sign("client", [], password=PASSWORD)
        signed = self.authority.sign("broker", ["127.0.0.1"])
        expired = self.authority.sign("expired", ["127.0.0.1"], timedelta(days=-1))
        ports: set[int] = set()
        while len(ports) < len(_LISTENERS):
            ports.update(free_ports())
        self._ports = dict(zip(_LISTENERS, sorted(ports), strict=False))
        places = "".join(f",{name}://127.0.0.1:{port}" for name, port in self._ports.items())
        protocols = "".join(f",{name}:{protocol}" for name, protocol in _LISTENERS.items())
        properties = {
            "listeners": "PLAINTEXT://127.0.0.1:${broker_port},"
            "CONTROLLER://127.0.0.1:${controller_port}" + places,
            "advertised.listeners": "PLAINTEXT://127.0.0.1:${broker_port}" + places,
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"
            + protocols,
            "ssl.keystore.type": "PEM",
            "ssl.truststore.type": "PEM",
            "ssl.keystore.location": str(signed.both),
            "ssl.truststore.location": str(self.authority.file),
            "listener.name.expired.ssl.keystore.type": "PEM",
            "listener.name.expired.ssl.keystore.location": str(expired.both),
            "listener.name.mutual.ssl.client.auth": "required",
        }
        for listener in ("login", "secure", "unusual"):
            prefix = f"listener.name.{listener}"
            offered = ",".join(_MECHANISMS) if listener != "unusual" else "PLAIN"
            properties |= {
                f"{prefix}.sasl.enabled.mechanisms": offered,
                f"{prefix}.plain.sasl.jaas.config": f'{_PLAIN} user_{_PLAIN_USER}="{PASSWORD}";',
                f"{prefix}.scram-sha-256.sasl.jaas.config": _SCRAM,
                f"{prefix}.scram-sha-512.sasl.jaas.config": _SCRAM,
                f"{prefix}.oauthbearer.sasl.jaas.config": (
                    f'{_TOKEN} unsecuredLoginStringClaim_sub="broker" '
                    'unsecuredValidatorRequiredScope="read";'
                ),
                f"{prefix}.plain.connections.max.reauth.ms": str(SESSION_MS),
            }
        self.plain = EmbeddedBroker(folder / "broker", properties=properties)

    def settings(self, listener: str, mechanism: str = "SCRAM-SHA-256") -> Config:
        """To reach a listener; "PLAINTEXT" is one, too."""
        if listener == "PLAINTEXT":
            return {"bootstrap.servers": self.plain.bootstrap_servers}
        protocol = _LISTENERS[listener]
        settings: Config = {
            "bootstrap.servers": f"127.0.0.1:{self._ports[listener]}",
            "security.protocol": protocol,
        }
        if protocol.endswith("SSL"):
            settings["ssl.ca.location"] = str(self.authority.file)
        if protocol.startswith("SASL"):
            user = _PLAIN_USER if mechanism == "PLAIN" else USER
            settings |= {
                "sasl.mechanism": mechanism,
                "sasl.username": user,
                "sasl.password": PASSWORD,
            }
        return settings

    def __enter__(self) -> Self:
        self.plain.start()
        admin = AdminClient(self.settings("PLAINTEXT"))
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            how = ScramCredentialInfo(mechanism, 4096)
            added = UserScramCredentialUpsertion(USER, how, PASSWORD.encode())
            admin.alter_user_scram_credentials([added])[USER].result()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.plain.stop()
