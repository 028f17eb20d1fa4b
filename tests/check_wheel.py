"""`make dist-check`: the wheel as a user gets it, in clean environments of a temporary folder.

The client alone has neither Spark nor numba; with the extra `engine`, `sde serve` runs in an empty
folder, and the README's lines, as printed, with the client of the other environment.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.docs.markdown_pages import ROOT, pages

SEEN = ("clients/py.typed", "sde/py.typed", "synopses/py.typed", "sde/wire/kinds.json")
SEEN_BY_THE_ENGINE = (
    "service/broker/broker.properties",
    "service/console/index.html",
    "service/console/base.css",
    "service/console/icon.svg",
    "service/console/main.js",
    "service/broker/broker.ivy.xml",
    "service/spark/log4j2.properties",
)
WITHOUT_ENGINE = """
import importlib.util
import clients
assert all(importlib.util.find_spec(name) is None for name in ("pyspark", "numba", "numpy"))
"""
# Kernels are compiled when they are first used.
PATIENT = {**os.environ, "SDE_TIMEOUT": "300"}
SECONDS_TO_START, SECONDS_TO_STOP = 600, 180


def main() -> None:
    (wheel,) = Path(sys.argv[1]).absolute().glob("*.whl")
    check_files(wheel)
    with tempfile.TemporaryDirectory(prefix="sde-wheel-") as name, ThreadPoolExecutor(1) as beside:
        folder = Path(name)
        with_engine = beside.submit(environment, folder / "engine", f"{wheel}[engine]")
        client = environment(folder / "client", str(wheel))
        run(client, folder, "python", "-c", WITHOUT_ENGINE)
        run(client, folder, "sde", "--help")
        print("the client runs without Spark and numba", flush=True)
        (folder / "here").mkdir()
        check_engine(with_engine.result(), client, folder / "here")
    print("the engine runs, and the README's lines with it", flush=True)


def check_files(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    missing = [name for name in (*SEEN, *SEEN_BY_THE_ENGINE) if name not in names]
    assert not missing, f"{wheel} lacks {missing}"
    packages = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert packages == {"clients", "sde", "service", "synopses"}, packages


def environment(folder: Path, wheel: str) -> Path:
    """The programs of a new environment that has the wheel.

    Our own pip fills it, and Python compiles the modules that are used: a pip of its own and all
    modules of Spark would take half of the time.
    """
    venv.create(folder)
    pip = ("-m", "pip", "--python", str(folder / "bin" / "python"))
    install = ("install", "--quiet", "--disable-pip-version-check", "--no-compile")
    pinned = ("-c", str(ROOT / "constraints.txt"))
    run(Path(sys.executable).parent, folder, "python", *pip, *install, *pinned, wheel)
    return folder / "bin"


def check_engine(engine: Path, client: Path, here: Path) -> None:
    (lines,) = (b.text for b in pages()[0].blocks if b.language == "python")
    with subprocess.Popen(
        [engine / "sde", "serve"], cwd=here, env=outside(PATIENT), stdout=subprocess.PIPE, text=True
    ) as serve:
        try:
            assert serve.stdout is not None
            for line in serve.stdout:
                print(line, end="", flush=True)
                if ": ready" in line:
                    break
            print(run(client, here, "python", "-c", lines), end="")
            run(client, here, "sde", "status")
        finally:
            serve.terminate()
            serve.communicate(timeout=SECONDS_TO_STOP)
    assert serve.returncode == 0, f"sde serve ended with {serve.returncode}"


def run(programs: Path, folder: Path, program: str, *arguments: str) -> str:
    """What it prints."""
    done = subprocess.run(
        [programs / program, *arguments],
        cwd=folder,
        env=outside(PATIENT),
        capture_output=True,
        text=True,
        timeout=SECONDS_TO_START,
    )
    assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"
    return done.stdout


def outside(variables: dict[str, str]) -> dict[str, str]:
    """Without those that lead back to this environment, which has the sources."""
    ours = ("PYTHON", "PYSPARK_", "VIRTUAL_ENV", "SPARK_")
    return {name: text for name, text in variables.items() if not name.startswith(ours)}


if __name__ == "__main__":
    main()
