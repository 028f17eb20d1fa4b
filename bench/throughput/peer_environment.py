"""The interpreter the peers run with: a virtual environment in the cache, made once."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import venv
from importlib.metadata import distributions
from pathlib import Path

from service.broker.jars import cache_folder

_WANTED = Path(__file__).with_name("peers.txt")
_PEERS = ("quixstreams", "bytewax", "pyspark", "confluent-kafka")


class PeersMissing(Exception):
    """The peers' packages could not be installed."""


def peer_python() -> Path:
    """Installs the packages first if they are not there."""
    digest = hashlib.sha256(_WANTED.read_bytes()).hexdigest()[:12]
    folder = cache_folder() / f"bench-peers-{digest}"
    python, complete = folder / "bin" / "python", folder / "complete"
    if complete.exists():
        return python
    print("Installing Quix Streams, Bytewax and a plain Spark for comparison (once)", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    venv.create(folder, with_pip=True)
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*install, "-r", _WANTED], stdout=sys.stdout, stderr=subprocess.STDOUT)
    if done.returncode:
        raise PeersMissing(f"pip could not install {_WANTED.name} (see above)")
    complete.touch()
    return python


def peer_versions(python: Path) -> dict[str, str]:
    """What the peers run with there."""
    places = [str(place) for place in python.parents[1].glob("lib/python*/site-packages")]
    found = {each.metadata["Name"]: each.version for each in distributions(path=places)}
    return {f"peers' {name}": found[name] for name in _PEERS if name in found}
