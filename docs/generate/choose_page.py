"""The page `how-to/choose-a-kind.md`: which kind for which question, and which parameters."""

from __future__ import annotations

import numpy as np

from docs.generate import markdown
from docs.generate.kinds_table import ROWS
from docs.generate.markdown import code
from docs.generate.sizes import SIZED, default_size, sizes
from synopses import KINDS, Items, LogHistogram, Quantiles, Synopsis

_PAGE = "../reference/kinds.md"
_COMPARED = ("quantiles", "log_histogram", "count_min", "frequent_items", "hyperloglog", "theta")
_ADVICE = {
    "How often does a key occur?": """\
`count_min`: any key can be asked for, weights may be negative, states add and subtract.
`count_min_conservative` in one stream read in order: about half the error.""",
    "Which keys are frequent?": """\
`frequent_items`: all keys above a share, with bounds that always hold. `top_k` for the first n, or
for the keys of the largest single values (`by="value"`). The other two for programs that expect
their names.""",
    "How large is a join?": """\
`ams`; its errors are relative to Euclidean norms, so it is good with few heavy keys. `count_min`
answers it too (`inner_product`), relative to totals.""",
    "How many distinct keys?": """\
`hyperloglog`: the smallest for its error. `theta` where sets are intersected or subtracted. `fm`
for comparison only.""",
    "Did a key occur?": """\
`bloom`, with `capacity` for as many distinct keys as will come: beyond it more answers are wrong,
and each says at which rate.""",
    "How are values distributed?": """\
`log_histogram` for times, sizes and prices: the error is relative to the value, at every quantile.
`quantiles` where ranks matter. `histogram` where the range is known: exact counts.""",
    "What are mean, variance, extremes?": "`moments`: exact.",
    "What do typical records look like?": """\
`sample`; it keeps the key, the value fields and the time of each record. `chain_sample` for the
last `window` records of one stream.""",
    "Where do points cluster?": "`coreset`: one state answers for every number of centres.",
    "Which streams move together?": """\
`dft`: no pair is missed. `lsh` with tens of thousands of streams: bitmaps are compared instead of
windows.""",
    "Where did a ship turn?": "`trajectory`.",
}
_INTRODUCTION = """\
Begin with the question, take the kind, and look whether its default error will do. `sde kinds KIND`
says which fields a kind needs, and has an example; `sde kinds KIND --error 0.01` names the
parameter for the error you want."""
_DEFAULTS = """\
What one synopsis has with the parameters it gets when you name none. The error is how far `lower`
and `upper` are from the value, at most; what it is a share of stands beside it."""
_CHOICE = """\
Which parameter gives at most which error, and the memory of one synopsis. At scope `stream` every
stream has one, at scope `dataset` every shard; a window keeps one for each of its panes."""


def text() -> str:
    return markdown.page(
        "Which kind for which question",
        _INTRODUCTION,
        "## By question",
        markdown.table(["question", "take"], [[_linked(r), _ADVICE[r]] for r in _ADVICE]),
        "## What the default parameters give",
        _DEFAULTS,
        markdown.table(["kind", "error", "of what", "memory"], map(_default_row, sorted(KINDS))),
        "## From the error wanted to the parameter",
        _CHOICE,
        markdown.table(["error", *map(code, _COMPARED)], _choice_rows()),
        "## A p99 that is right and useless",
        _p99(),
    )


def _linked(question: str) -> str:
    (kinds,) = [row.kinds for row in ROWS if row.question == question]
    links = ", ".join(f"[{code(kind)}]({_PAGE}#{kind})" for kind in kinds)
    return f"{question} {links}"


def _default_row(kind: str) -> list[str]:
    memory = _memory(KINDS[kind]().memory)
    linked = f"[{code(kind)}]({_PAGE}#{kind})"
    if kind not in SIZED:
        return [linked, "–", KINDS[kind].guarantee, memory]
    return [linked, f"{default_size(kind).error:.3g}", SIZED[kind].meaning, memory]


def _memory(count: int) -> str:
    return f"{count / 1e6:.3g} MB" if count >= 1e6 else f"{count / 1e3:.3g} kB"


def _choice_rows() -> list[list[str]]:
    by_kind = {kind: {size.error: size for size in sizes(kind)} for kind in _COMPARED}
    errors = sorted({error for found in by_kind.values() for error in found}, reverse=True)
    rows = []
    for error in errors:
        row = [f"{error:g}"]
        for kind in _COMPARED:
            size = by_kind[kind].get(error)
            named = f"{code(f'{SIZED[kind].parameter}={size.value}')}, " if size else ""
            row.append(f"{named}{_memory(size.memory)}" if size else "–")
        rows.append(row)
    return rows


# -- the worked example ---------------------------------------------------------------------------


def _p99() -> str:
    values = np.random.default_rng(7).lognormal(4, 0.8, 200_000).round(1)
    truth = np.quantile(values, 0.99, method="inverted_cdf")
    rows = []
    for made, words in (
        (Quantiles(), "`quantiles`, `k=200` (the default)"),
        (Quantiles.from_error(0.001), f"`quantiles`, `k={Quantiles.from_error(0.001).k}`"),
        (LogHistogram(), "`log_histogram`, `relative_error=0.02` (the default)"),
    ):
        rows.append([words, *_bounds(made, values), _memory(made.memory)])
    table = markdown.table(["kind", "p99", "lower", "upper", "memory"], rows)
    error, k = Quantiles().rank_error, Quantiles.from_error(0.001).k
    return f"""\
The error of `quantiles` is one of *rank*. With the default `k=200` it is {error:.4f}: a p50 lies
between p{50 - 100 * error:.1f} and p{50 + 100 * error:.1f}, which is close; a p99 lies between
p{99 - 100 * error:.1f} and the maximum, which is far in a long tail. {len(values):,} response times
(log-normal, true p99 {truth:.0f} ms) give:

{table}

So for a high quantile q take a rank error of a tenth of 1−q: for a p99 0.001, which is `k={k}`. Or
take `log_histogram`: its error is relative to the value, whatever the quantile."""


def _bounds(made: Synopsis, values: np.ndarray) -> list[str]:
    made.add(Items.of(values=values))
    answer = made.estimate({"type": "quantile", "q": 0.99})
    return [f"{number:.0f}" for number in (answer.value, answer.lower, answer.upper)]
