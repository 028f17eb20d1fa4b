"""What a page must have for those who do not see it, or see little: looked for by a script."""

from __future__ import annotations

from pathlib import Path

from tests.service.gateway.console.browsing import Browser

_SCRIPT = Path(__file__).with_suffix(".js").read_text()


def shortcomings(window: Browser) -> list[str]:
    return window.run(_SCRIPT)
