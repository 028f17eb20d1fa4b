"""docs/reference/expressions.md: the language of conditions."""

from __future__ import annotations

from docs.generate import markdown
from docs.generate.markdown import code
from sde.expressions.functions import SIGNATURES, Function, Signature
from sde.expressions.parser import DEEPEST, LONGEST, MOST_NODES
from sde.expressions.text_values import LONGEST_JOINED

_INTRODUCTION = """\
An expression computes a value from the fields of a tuple. The `where` of a
[create](messages.md#create) is one whose value is true or false:

```json
{"op": "create", "uid": "large", "dataset": "Forex", "kind": "count_min", "key": "trader",
 "where": "px * qty >= 1e6 and venue in ('X', 'Y') and lower(side) != 'test'"}
```"""
_PARTS = """\
## Parts

| part | form |
| --- | --- |
| a field | its name: `price`, `trader.id`, `legs[0].price`; any other name in backticks: `` `odd name-1` `` (a backtick in it is doubled) |
| the tuple itself | `$stream` and `$time` (ms since the epoch) |
| a number | `12`, `0.5`, `1e6` |
| a text | `'EUR'` or `"EUR"`; a quote in it is doubled (`'it''s'`), a backslash is a backslash |
| others | `true`, `false`, `null` (a missing value) |
| arithmetic | `+` `-` `*` `/` `%`, and `-` before a value; the remainder has the sign of the dividend |
| comparisons | `==` `!=` `<` `<=` `>` `>=`, `in (…)`, `not in (…)`, `is null`, `is not null`; they do not chain |
| logic | `not`, `and`, `or` |
| brackets | `( … )` |

They bind in this order, the loosest first: `or`, `and`, `not`, comparisons, `+ -`, `* / %`, `-`. Words are
in lower case."""  # noqa: E501
_VALUES = """\
## Values

- **Missing.** A missing operand gives a missing result. `and`, `or`, `not` and `in` are those of
  SQL: `null or true` is true, `null and true` is missing. A condition counts only where it is
  true.
- **Numbers.** A text that looks like a number counts as that number where a number is needed;
  another text is missing there. Whole numbers within int64 are exact, and so are results of `+ -
  * / %` that are whole and within int64; all others are those of float64. What is no finite
  number (`1 / 0`, `log(0)`, `sqrt(-1)`, a result beyond float64) is missing.
- **Equality** compares texts, as [keys](../concepts/bounds.md#keys) do: the number 12, the number
  12.0 and the text `"12"` are equal. The text `"12.0"` is another one; `x + 0 == 12` compares it
  as a number.
- **Order** is that of numbers if one side is known to be a number (`px > 9`), that of texts, by
  the numbers of their characters, if one side is known to be a text (`day >= '2024-01-31'`). Of
  two fields, two numbers are compared as numbers and two other texts as texts; a number and
  another text is missing.
- **True and false** of a field are `true` and `false`, as JSON or as texts; whatever else there
  is counts as missing."""

_LIMITS = f"""\
`round(px * 100) / 100` rounds to two places. A text that `concat` makes has at most
{LONGEST_JOINED:,} bytes; a longer one is missing.

## What is refused

A create with a wrong `where` is refused with the code `bad_parameter`; the message names the
place, what stands there and what was expected. Types that are known without any tuple are
checked, too: `'a' * 2` is refused. An expression has at most {LONGEST:,} characters,
{MOST_NODES} parts and {DEEPEST} levels."""


def text() -> str:
    rows = [[code(_form(f, SIGNATURES[f])), SIGNATURES[f].help] for f in Function]
    return markdown.page(
        "Expressions",
        _INTRODUCTION,
        _PARTS,
        _VALUES,
        "## Functions",
        markdown.table(["function", "value"], rows),
        _LIMITS,
    )


def _form(function: Function, signature: Signature) -> str:
    """
    >>> _form(Function.CONCAT, SIGNATURES[Function.CONCAT])
    'concat(a, b, …)'
    """
    names = [chr(ord("a") + number) for number in range(min(signature.most, 3))]
    needed = ", ".join(names[: signature.least])
    if signature.most > len(names):
        return f"{function}({needed}, …)"
    optional = "".join(f"[, {name}]" for name in names[signature.least :])
    return f"{function}({needed}{optional})"
