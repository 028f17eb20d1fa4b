"""The HTTP door in the settings: a table [http], and a table [http.tokens.NAME] for each token.

[http]
listen = "0.0.0.0:8088"

[http.tokens.dashboard]
sha256 = "of the token, as `sde gateway token` prints it"
scopes = ["read"]
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from service.kafka.loopback import is_loopback as is_loopback
from service.setting_values import SettingsError, read_table, read_value, refuse_unknown

Scope = Literal["read", "write", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
_ADDRESS = re.compile(r"(?:\[([0-9A-Fa-f:.]+)\]|([^\[\]:/]+)):([0-9]{1,5})")
_DIGEST = re.compile(r"[0-9a-f]{64}")


def _setting(default: Any, text: str) -> Any:
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class HttpToken:
    """Who may come in through the HTTP door, and what for."""

    sha256: str = field(metadata={"help": "of the token; the token itself is kept nowhere"})
    scopes: tuple[str, ...] = field(metadata={"help": "what it may do: read, write, admin"})
    datasets: tuple[str, ...] = _setting((), "the data sets it may see, with `*` (default: all)")
    expires: str = _setting("", "an ISO 8601 time after which it is worth nothing")

    @property
    def end(self) -> float | None:
        """`expires` in seconds since the epoch."""
        if not self.expires:
            return None
        moment = datetime.fromisoformat(self.expires)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


@dataclass(frozen=True)
class HttpSettings:
    """The HTTP door of an engine. There is none as long as nothing says where it listens."""

    listen: str = _setting("", "HOST:PORT; the same as `--http`; without it there is no HTTP")
    certificate: Path | None = field(
        default=None, metadata={"help": "file of the TLS certificate and its chain (PEM)"}
    )
    private_key: Path | None = field(
        default=None, metadata={"help": "file of the certificate's private key (PEM)"}
    )
    tuples_bytes: int = _setting(64 << 20, "of a body with tuples at most")
    body_bytes: int = _setting(4 << 20, "of any other body at most; of a state four times as much")
    requests_per_second: float = _setting(1000.0, "of one token, or one address, at most")
    requests_in_flight: int = _setting(1000, "requests that wait for their answers at most")
    event_streams: int = _setting(1000, "open streams of events at most")
    header_seconds: float = _setting(10.0, "how long a request's headers may take")
    idle_seconds: float = _setting(30.0, "how long the next part of a body may take")
    body_seconds: float = _setting(300.0, "how long a whole body may take")
    answer_seconds: float = _setting(10.0, "how long the engine's answer is waited for")
    tokens: dict[str, HttpToken] = field(
        default_factory=dict, metadata={"help": "tables [http.tokens.NAME]"}
    )

    def __post_init__(self) -> None:
        if self.listen:
            _ = self.address
        if (self.certificate is None) != (self.private_key is None):
            raise SettingsError("http.certificate, http.private_key: expected both or none")
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, int | float) and not value > 0:
                raise SettingsError(f"http.{each.name}={value}: expected more than 0")
        if self.listen and not self.tokens and not is_loopback(self.listen):
            raise SettingsError(
                f"http={self.listen!r}: everybody who reaches this address could ask and change"
                " everything. Make a token with 'sde gateway token NAME' and put the table that it"
                " prints into the file of --config, or listen at 127.0.0.1"
            )

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        found = _ADDRESS.fullmatch(self.listen)
        if found is None or int(found[3]) >= 1 << 16:
            raise SettingsError(f"http={self.listen!r}: expected HOST:PORT, such as 127.0.0.1:8088")
        return found[1] or found[2], int(found[3])


def read_http(value: Any) -> HttpSettings:
    """The table [http], or HOST:PORT alone; SettingsError if it is wrong."""
    if isinstance(value, str):
        return HttpSettings(listen=value)
    if not isinstance(value, Mapping):
        raise SettingsError(f"http={value!r}: expected HOST:PORT or a table [http]")
    tokens = value.get("tokens", {})
    if not isinstance(tokens, Mapping):
        raise SettingsError(f"http.tokens={tokens!r}: expected tables [http.tokens.NAME]")
    known = {each.name: str(each.type) for each in fields(HttpSettings) if each.name != "tokens"}
    plain = {name: said for name, said in value.items() if name != "tokens"}
    refuse_unknown(plain, known, " in the table [http]")
    read = {name: read_value(f"http.{name}", known[name], said) for name, said in plain.items()}
    return HttpSettings(**read, tokens={name: _token(name, tokens[name]) for name in tokens})


def _token(name: str, table: Any) -> HttpToken:
    place = f"http.tokens.{name}"
    if isinstance(table, Mapping) and not {"sha256", "scopes"} <= table.keys():
        raise SettingsError(f"{place}: expected `sha256` and `scopes`, as 'sde gateway token' says")
    if isinstance(table, Mapping) and isinstance(table.get("expires"), date):  # TOML has times
        table = {**table, "expires": table["expires"].isoformat()}
    token = read_table(place, HttpToken, table)
    if not _DIGEST.fullmatch(token.sha256):
        raise SettingsError(f"{place}.sha256: expected 64 hexadecimal digits")
    for scope in token.scopes:
        if scope not in SCOPES:
            raise SettingsError(f"{place}.scopes: {scope!r}: expected {', '.join(SCOPES)}")
    try:
        _ = token.end
    except ValueError:
        raise SettingsError(f"{place}.expires={token.expires!r}: expected ISO 8601") from None
    return token
