"""python -m bench.poison: what arrives must not stop an engine, nor make it lose or count twice.

Good tuples flow to a real engine while fuzzed messages come on every topic: tuples (JSON of every
form, Arrow frames, record batches as no producer writes them), requests of every operation, kind
and dialect, forged messages of the union topic, and states of every kind by `import`, most of them
with a checksum that is right again. Afterwards

- the engine must not have stopped;
- every request has exactly one reply;
- every line of a data message is a tuple that is counted or a dead letter, as the plain reader
  (orjson) decides it;
- the states of the good tuples are byte for byte what a batch program makes of them, and every
  answer about them that was given under way is right.

Then messages that kill the process that handles them are planted in another engine under load, for
each topic and stage: each must be dead-lettered, and a later request answered, within 60 s. One
that makes its process hang must be passed too, however long that takes.

Exits with 1 if one of these fails.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.goals import Goal, verdict
from bench.poison import deaths
from bench.poison.fuzz import Outcome, fuzz
from bench.site import Site, new_site

# Fuzzed creates would otherwise fill the machine; faults about limits are replies like others.
_LIMITS = "[limits]\nmax_bytes = 268435456\nmax_synopses = 3000\nmax_watches = 500\n"


_SECONDS_TO_PASS = 60.0


def goals_of_deaths(passed: deaths.Passed) -> list[Goal]:
    left = len(deaths.DEATHS) - len(passed.seconds)
    deadly = [death.text for death in deaths.DEATHS if not death.hangs]
    times = [passed.seconds[text] for text in deadly if text in passed.seconds]
    return [
        Goal("planted messages that were not passed", float(left), 0, at_most=True),
        Goal(
            "longest time to pass a deadly one",
            max(times, default=None),
            _SECONDS_TO_PASS,
            " s",
            True,
        ),
        Goal("wrong states beside them", float(len(passed.wrong)), 0, at_most=True),
    ]


def goals(outcome: Outcome) -> list[Goal]:
    return [
        Goal("stops", float(outcome.stops), 0, at_most=True),
        Goal("unanswered requests", float(outcome.unanswered), 0, at_most=True),
        Goal("unaccounted messages", float(outcome.unaccounted), 0, at_most=True),
        Goal(
            "wrong states and answers about good tuples", float(len(outcome.wrong)), 0, at_most=True
        ),
    ]


def lines(outcome: Outcome) -> list[str]:
    replies, letters = outcome.replies, outcome.letters
    shown = [
        *(f"no reply: {name}" for name in list(replies.missing)[:5]),
        *(f"a reply too many: {name}" for name in list(replies.surplus)[:5]),
        *(f"no dead letter: {place}" for place in list(letters.missing)[:5]),
        *(f"a dead letter too many: {place}" for place in list(letters.surplus)[:5]),
        *outcome.miscounted,
        *outcome.wrong[:5],
    ]
    sent = ", ".join(f"{name} {count:,}" for name, count in outcome.sent.items())
    return [
        *shown,
        f"sent in {outcome.seconds:.0f} s: {sent}",
        f"replies {replies.expected:,}, dead letters {letters.expected:,}, "
        f"fuzzed tuples {sum(outcome.tuples.values()):,}, good tuples {outcome.good:,}",
    ]


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.poison",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--imports", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=("fuzz", "deaths"), help="one of the two parts")
    options = parser.parse_args()
    found: list[Goal] = []
    if options.only != "deaths":
        with _running(_LIMITS) as site:
            outcome = fuzz(site, options.messages, options.imports, options.seed)
        print("\n".join(lines(outcome)), flush=True)
        found += goals(outcome)
    if options.only != "fuzz":
        with deaths.planted(), _running(deaths.CONFIG) as site:
            found += goals_of_deaths(deaths.plant(site, options.seed))
    return verdict(found)


@contextmanager
def _running(settings: str) -> Iterator[Site]:
    """An engine with these lines of TOML, on a broker of its own."""
    with tempfile.TemporaryDirectory(prefix="sde-poison-") as folder:
        config = Path(folder, "sde.toml")
        config.write_text(settings)
        with new_site("--config", str(config)) as site, site.engine:
            yield site


if __name__ == "__main__":
    sys.exit(main())
