"""The data folder of an engine that runs, without the engine."""

import fcntl
import json
import os
import time
from contextlib import contextmanager

from sde.wire.status import STATUS_FILE, EngineStatus, encode_status

SERVERS = "127.0.0.1:1"


@contextmanager
def engine(folder, pid=None, servers=SERVERS, **written):
    """What an engine leaves in its data folder; it holds the lock of the folder in this block."""
    pid = pid or os.getpid()
    folder.mkdir(exist_ok=True)
    (folder / "address.json").write_text(
        json.dumps({"bootstrap_servers": servers, "pid": pid, **written})
    )
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write(f"{pid}\n")
        lock.flush()
        yield


def write_status(folder, **fields):
    now = round(time.time() * 1000)
    known = {"pid": 7, "host": "h", "site": "main", "state": "running", "since": now}
    known |= {"written": now, "bootstrap_servers": SERVERS, "folders": {}}
    (folder / STATUS_FILE).write_bytes(encode_status(EngineStatus(**(known | fields))))
