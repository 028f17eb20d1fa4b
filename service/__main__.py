"""`python -m service`, or `sde serve`: run an engine until Ctrl-C or SIGTERM."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from dataclasses import fields
from pathlib import Path
from types import FrameType

from service.engine.engine import Engine
from service.setting_values import SettingsError
from service.settings import Settings, load
from service.startup_errors import KafkaAway, StartupError

EXIT_ERROR, EXIT_SETTINGS, EXIT_KAFKA_AWAY = 1, 2, 3


def main() -> int:
    flags = vars(_parser().parse_args())
    config = flags.pop("config")
    flags["kafka"] = dict(pair.split("=", 1) for pair in flags.pop("kafka") or ()) or None
    try:
        settings = load(config, flags, os.environ)
    except SettingsError as error:
        print(f"sde serve: {error}", file=sys.stderr)
        return EXIT_SETTINGS
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with Engine(settings, report) as engine:
            stop_signal = _StopSignal()
            while not stop_signal.received:
                try:
                    all_is_well = engine.supervise()
                except Exception:
                    if not stop_signal.received:
                        raise
                    break  # Spark's JVM got the signal, too, and ended first
                time.sleep(0.2 if all_is_well else 0.05)
            report("finishing the running batch")
        report("stopped")
    except KeyboardInterrupt:
        report("stopped before it was ready")
        return EXIT_ERROR
    except StartupError as error:
        print(f"sde serve: {error}", file=sys.stderr)
        return EXIT_KAFKA_AWAY if isinstance(error, KafkaAway) else EXIT_ERROR
    return 0


class _StopSignal:
    """Handles SIGINT and SIGTERM once the engine runs: `received` tells whether one came.

    Made when Spark is up, because Spark sets a handler of its own for SIGINT.
    """

    def __init__(self) -> None:
        self.received = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._receive)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self.received = True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "sde serve",
        description="Run a Synopses Data Engine until Ctrl-C or SIGTERM.",
        allow_abbrev=False,  # a misspelt flag is refused
    )
    parser.add_argument("--config", type=Path, help="TOML file with these settings")
    for setting in fields(Settings):
        flag = f"--{setting.name.replace('_', '-')}"
        text = setting.metadata["help"]
        if setting.name == "kafka":
            parser.add_argument("-X", "--kafka", action="append", metavar="NAME=VALUE", help=text)
        elif setting.name not in ("topics", "limits", "metrics", "peers"):
            parser.add_argument(flag, help=text)
    return parser


def report(text: str) -> None:
    print(f"sde: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
