"""`python -m sde.plugins.check FILE [NAME]`: examine a plug-in here, as an engine would."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sde.limits import StateLimits
from sde.plugins.examination import NotPassed, examine


def main() -> int:
    """The exit code: 0 if the plug-in obeys every law. `sde plugin check` runs this."""
    parser = argparse.ArgumentParser("python -m sde.plugins.check", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("name", nargs="?", help="of the plug-in (default: that of the file)")
    options = parser.parse_args()
    name = options.name or options.file.stem
    source = options.file.read_text(encoding="utf-8")
    memory, output = StateLimits().plugin_bytes, sys.stderr.fileno()
    examined = examine(name, source, memory, on_law=_print_law, output=output)
    if isinstance(examined, NotPassed):
        print(f"FAILED  {examined.law or 'loading'}: {examined.reason}")
        return 1
    print(f"{name} obeys every law that applies to it")
    return 0


def _print_law(law: str, why_not: str) -> None:
    print(f"-       {law} (not applicable: {why_not})" if why_not else f"ok      {law}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
