"""The short table of kinds in README.md, between `<!-- kinds -->` and `<!-- /kinds -->`.

A README has few words, so kinds that answer the same question share a row here. The page of kinds
has one section for each, with its own words.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from docs.generate import markdown

README = Path(__file__).parents[2] / "README.md"
START, END = "<!-- kinds -->", "<!-- /kinds -->"
_PAGE = "docs/reference/kinds.md"


class Row(NamedTuple):
    question: str
    kinds: tuple[str, ...]
    guarantee: str


ROWS = (
    Row(
        "How often does a key occur?",
        ("count_min", "count_min_conservative"),
        "never too low; at most ε·total too high, with probability 1−δ",
    ),
    Row(
        "Which keys are frequent?",
        ("frequent_items", "lossy_counting", "sticky_sampling", "top_k"),
        "error at most ε·total",
    ),
    Row("How large is a join?", ("ams",), "error at most ε·norms, with probability 1−δ"),
    Row(
        "How many distinct keys?",
        ("hyperloglog", "theta", "fm"),
        "bounds hold with probability 0.99",
    ),
    Row("Did a key occur?", ("bloom",), "“no” is certain; a wrong “yes” has probability fpp"),
    Row(
        "How are values distributed?",
        ("quantiles", "log_histogram", "histogram"),
        "error of rank, value or bucket bounded",
    ),
    Row("What are mean, variance, extremes?", ("moments",), "exact"),
    Row("What do typical records look like?", ("sample", "chain_sample"), "uniform samples"),
    Row("Where do points cluster?", ("coreset",), "cost of any centres bounded"),
    Row(
        "Which streams move together?",
        ("dft", "lsh"),
        "dft misses no pair, lsh at most 1−recall",
    ),
    Row("Where did a ship turn?", ("trajectory",), "omitted positions within limits"),
)


def purpose_of(kind: str) -> str:
    """The question of a user that the kind answers."""
    return next(row.question for row in ROWS if kind in row.kinds)


def table() -> str:
    """The table as Markdown."""
    rows = [
        [row.question, ", ".join(f"[`{k}`]({_PAGE}#{k})" for k in row.kinds), row.guarantee]
        for row in ROWS
    ]
    return markdown.table(["question", "kinds", "guarantee"], rows)


def replaced(readme: str, made: str) -> str:
    """The README with another table."""
    before, _, rest = readme.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{made}\n{END}{after}"
