"""Every file that is generated from declarations, with the text it should have."""

from __future__ import annotations

from pathlib import Path

from docs.generate import (
    choose_page,
    cli_page,
    expressions_page,
    faults_page,
    kinds_file,
    kinds_page,
    kinds_table,
    messages_page,
    metrics_page,
    rooms_page,
    settings_page,
)

_DOCS = Path(__file__).parents[1]
_REFERENCE = _DOCS / "reference"


def generated_files() -> dict[Path, str]:
    readme = kinds_table.README.read_text(encoding="utf-8")
    return {
        kinds_file.PATH: kinds_file.text(),
        kinds_table.README: kinds_table.replaced(readme, kinds_table.table()),
        _REFERENCE / "messages.md": messages_page.text(),
        _REFERENCE / "kinds.md": kinds_page.text(),
        _REFERENCE / "settings.md": settings_page.text(),
        _REFERENCE / "metrics.md": metrics_page.text(),
        _REFERENCE / "faults.md": faults_page.text(),
        _REFERENCE / "expressions.md": expressions_page.text(),
        _REFERENCE / "cli.md": cli_page.text(),
        _DOCS / "how-to" / "choose-a-kind.md": choose_page.text(),
        _DOCS / "design" / "rooms.md": rooms_page.text(),
    }
