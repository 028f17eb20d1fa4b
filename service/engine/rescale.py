"""Another number of state partitions for a checkpoint, by Spark's own means.

A running engine finds a note in its data folder (`sde rescale` leaves it) and does it between two
batches; `python -m service.engine.rescale` does it for one that does not run. The shards stay the
same: they are only spread over more, or fewer, tasks.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

from pyspark.sql import SparkSession

from service.engine.own_folders import lock_folders
from service.setting_values import SettingsError
from service.settings import Settings
from service.startup_errors import StartupError

_NOTE, _FAILED = "rescale.json", "rescale-failed.json"


class RescaleError(StartupError):
    pass


def repartition(spark: SparkSession, checkpoint: Path, partitions: int) -> None:
    """Spread the state of a query that does not run over so many partitions."""
    if not (checkpoint / "offsets").exists():
        raise RescaleError(f"there is no state in {checkpoint} yet: start the engine first")
    try:
        spark._streamingCheckpointManager.repartition(str(checkpoint.absolute()), partitions)
    except Exception as error:
        raise RescaleError(_reason(str(error), partitions)) from error


def _reason(error: str, partitions: int) -> str:
    if "ALREADY_MATCH" in error:
        return f"the state has {partitions} partitions already"
    if re.search("FAILED_BATCH|uncommitted|failed batch", error, re.IGNORECASE):
        return "the last batch was not finished: start the engine once, stop it, and try again"
    return f"Spark cannot repartition the state: {error.splitlines()[0][:300]}"


class RescaleNote:
    """The file in the data folder through which `sde rescale` asks a running engine.

    The engine looks for it between batches; the command waits until it is gone.
    """

    def __init__(self, folder: Path) -> None:
        self._note, self._failed = folder / _NOTE, folder / _FAILED

    def partitions(self) -> int | None:
        """How many partitions the file asks for; None if there is no file, or a wrong one."""
        try:
            partitions = json.loads(self._note.read_text())["partitions"]
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError):
            partitions = None
        if not isinstance(partitions, int) or partitions < 1:
            self.done(f'{self._note} is not {{"partitions": N}}')
            return None
        return partitions

    def done(self, failure: str = "") -> None:
        """Remove the file; the failure is written before, because the command waits for that."""
        if failure:
            self._failed.write_text(json.dumps({"message": failure}))
        self._note.unlink(missing_ok=True)


def main() -> int:
    from service.spark.session import start_spark

    parser = argparse.ArgumentParser("sde rescale", description=__doc__)
    parser.add_argument("--data-dir", type=Path, default=Path("sde-data"))
    parser.add_argument("--partitions", type=int, required=True)
    arguments = parser.parse_args()
    try:
        settings = replace(Settings(), data_dir=arguments.data_dir)
        with lock_folders(settings):
            spark = start_spark(settings)
            try:
                repartition(spark, settings.checkpoint, arguments.partitions)
            finally:
                spark.stop()
    except (SettingsError, StartupError) as error:
        print(f"sde rescale: {error}", file=sys.stderr)
        return 1
    print(f"{arguments.partitions} partitions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
