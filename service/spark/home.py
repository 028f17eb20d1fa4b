"""A home for Spark without its zip of pyspark, which saves several seconds at every start.

Spark puts the zip first on the path of its Python processes, and starts a dozen of them one after
the other until an engine is ready. Python compiles modules from a zip again in each process; those
of the installed pyspark are compiled already.
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
    """Set SPARK_HOME to a folder that has Spark's programs and jars, and no zip.

    Called before Spark's JVM starts. A home that the user chose stays. Where nothing can be
    written, Spark uses its own home, zip included.
    """
    if "SPARK_HOME" not in os.environ:
        with suppress(OSError):
            os.environ["SPARK_HOME"] = str(_home())


def installation_folder() -> Path:
    """The folder for files that are made once for an installation of Spark.

    It is in the environment that has the jars, so that both are removed together.
    """
    return Path(sys.prefix) / "var" / "sde"


def _home() -> Path:
    home = installation_folder() / f"spark-{pyspark.__version__}"
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
