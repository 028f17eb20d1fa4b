"""Run in place of Python by Spark: has the nursery fork a process, and ends as that does.

Started ten times until an engine answers, so without site-packages and with few imports
(`python -IS launcher.py -m MODULE ...`). What the nursery cannot do Python itself does.
"""

import json
import os
import socket
import sys


def _forked(address: str, arguments: list[str]) -> int | None:
    """The exit code of the process, negative for a signal; None if it could not be forked."""
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(address)
        except OSError:
            return None
        asked = json.dumps([arguments, dict(os.environ), os.getcwd()]).encode() + b"\n"
        sent = socket.send_fds(connection, [asked], [0, 1, 2])
        connection.sendall(asked[sent:])
        ended = connection.recv(64)
    return int(ended) if ended else 1  # 1: the nursery is gone, and what it forked with it


def main() -> None:
    address, words = os.environ.get("SDE_NURSERY"), sys.argv[1:]
    if address and len(words) > 1 and words[0] == "-m":
        code = _forked(address, words[1:])
        if code is not None:
            if code < 0:
                os.kill(os.getpid(), -code)
            os._exit(code)
    os.execv(sys.executable, [sys.executable, *words])


if __name__ == "__main__":
    main()
