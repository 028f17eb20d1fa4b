"""`python -m docs.generate`: write every generated file; `--check` only names those that differ."""

from __future__ import annotations

import sys

from docs.generate.files import generated_files


def main() -> int:
    stale = [
        (path, text)
        for path, text in generated_files().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path, text in stale:
        print(path)
        if "--check" not in sys.argv[1:]:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return 1 if stale and "--check" in sys.argv[1:] else 0


if __name__ == "__main__":
    sys.exit(main())
