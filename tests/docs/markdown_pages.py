"""The pages of the project, taken apart: their code blocks, links and headings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
LANGUAGES = ("python", "shell", "json", "toml", "text")  # the last is not run

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[(?:[^][]|\[[^]]*\])*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Page:
    path: Path
    text: str

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def blocks(self) -> list[Block]:
        return [
            Block(self.path, self.text.count("\n", 0, m.start()) + 2, m[1], m[2])
            for m in _BLOCK.finditer(self.text)
        ]

    @property
    def _prose(self) -> str:
        return _BLOCK.sub("", self.text)

    @property
    def links(self) -> list[str]:
        return _LINK.findall(self._prose)

    @property
    def anchors(self) -> set[str]:
        """The names under which GitHub lets one link to the headings of the page."""
        return {_anchor(heading) for heading in _HEADING.findall(self._prose)}


def _anchor(heading: str) -> str:
    words = re.sub(r"[^\w\- ]", "", heading.lower())
    return words.replace(" ", "-")


def pages() -> list[Page]:
    """Everything that people read, the README first."""
    paths = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
    paths += sorted((ROOT / "docs").rglob("*.md"))
    return [Page(path, path.read_text(encoding="utf-8")) for path in paths]


def blocks(language: str) -> list[Block]:
    return [block for page in pages() for block in page.blocks if block.language == language]
