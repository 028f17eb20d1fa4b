"""Runs a command for as long as its own standard input stays open, then ends it.

The embedded broker runs under this guard. The service holds the other end of the pipe, and the
kernel closes that end however the service dies, SIGKILL included; so no broker is left behind.
Started as a plain script, with nothing but the standard library.
"""

from __future__ import annotations

import subprocess
import sys
import threading

SECONDS_TO_STOP = 20.0


def _stop_at_end_of_input(process: subprocess.Popen[bytes]) -> None:
    sys.stdin.buffer.read()
    process.terminate()
    try:
        process.wait(SECONDS_TO_STOP)
    except subprocess.TimeoutExpired:
        process.kill()


def main(command: list[str]) -> int:
    # Open descriptors are passed on: one of them is the lock of the broker's folder, which must
    # stay locked until the broker itself is gone.
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, close_fds=False)
    threading.Thread(target=_stop_at_end_of_input, args=(process,), daemon=True).start()
    return process.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
