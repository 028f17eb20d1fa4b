"""A lock on a folder across processes: one broker, or engine, at a time uses its data."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path
from typing import IO

from service.broker.guard import SECONDS_TO_STOP
from service.startup_errors import BrokerError

# Seconds to wait for the lock, by whether the service that took it still runs. If it was killed,
# its broker has the lock until the guard has stopped it.
_WAIT_FOR_RUNNING_SERVICE = 0.5
_WAIT_FOR_KILLED_SERVICE = SECONDS_TO_STOP + 10


class FolderLock:
    """Held until `release` and until every process that inherited `fileno` has ended.

    `user` is what has the folder, and `setting` names it, for the message of a BrokerError. The
    lock is a file in the folder, or another one if the folder itself may be deleted.
    """

    def __init__(
        self,
        folder: Path,
        user: str = "broker",
        file: Path | None = None,
        setting: str = "data_dir",
    ) -> None:
        self._path, self._user, self._setting = file or folder / "lock", user, setting
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file: IO[str] = self._path.open("a+")
        try:
            self._take(folder)
        except BaseException:
            self.release()
            raise

    def fileno(self) -> int:
        return self._file.fileno()

    def release(self) -> None:
        self._file.close()

    def _take(self, folder: Path) -> None:
        began = time.monotonic()
        while not self._try_to_take():
            holder = self._path.read_text().strip()
            patience = _WAIT_FOR_RUNNING_SERVICE if _is_alive(holder) else _WAIT_FOR_KILLED_SERVICE
            if time.monotonic() - began > patience:
                raise BrokerError(
                    f"{folder} is in use by the {self._user} of process {holder or 'unknown'}:"
                    f" stop that one, or name another folder in {self._setting}."
                )
            time.sleep(0.05)
        self._file.truncate(0)
        self._file.write(f"{os.getpid()}\n")
        self._file.flush()

    def _try_to_take(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _is_alive(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True  # somebody else's process
    return True
