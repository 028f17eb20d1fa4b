"""Where the schema registry is, and how it is asked."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    """Where the registry is, and who asks: a user with a password, or a token, or nobody."""

    url: str = ""
    user: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    ca_file: str = ""  # of those who vouch for its certificate; the system's if empty
    timeout_seconds: float = 5.0  # of one answer

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if not self.url:
            return
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            text = "expected http://host:port or https://host:port, the user not in it"
            raise ValueError(
                f"url={parts._replace(netloc=parts.hostname or '').geturl()!r}: {text}"
            )

    def authorization(self) -> dict[str, str]:
        if self.token:
            return {"Authorization": f"Bearer {self.token}"}
        if self.user:
            pair = base64.b64encode(f"{self.user}:{self.password}".encode()).decode()
            return {"Authorization": f"Basic {pair}"}
        return {}
