"""A home for Spark without its zip of pyspark: several seconds off every start.

Spark puts the zip before all else on the path of its Python processes, and a dozen of them come up
one after the other until an engine is ready. Python compiles what it imports from a zip, in each
process anew; pyspark as it is installed is compiled already.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import pyspark

_PARTS = ("bin", "jars")


def use_installed_pyspark() -> None:
    """Let this process's Spark find its programs and jars, and no zip.

    A home that the user chose stays. Where nothing can be written Spark does as it always does.
    """
    if "SPARK_HOME" not in os.environ:
        with suppress(OSError):
            os.environ["SPARK_HOME"] = str(_home())


def made_once() -> Path:
    """The folder of what is made once for an installation of Spark.

    In the environment that has the jars, so that all goes together.
    """
    return Path(sys.prefix) / "var" / "sde"


def _home() -> Path:
    home = made_once() / f"spark-{pyspark.__version__}"
    if not home.exists():
        home.parent.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix="spark-", dir=home.parent))
        made.chmod(0o755)
        for part in _PARTS:
            (made / part).symlink_to(Path(pyspark.__file__).parent / part)
        try:
            made.rename(home)
        except OSError:
            shutil.rmtree(made)
            if not home.exists():  # else another process was faster
                raise
    return home
