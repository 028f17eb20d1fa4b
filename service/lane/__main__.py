"""`python -m service.lane FOLDER`: answers questions of a gateway, which starts it, by pipes.

It ends when its input does.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from service.lane.opened import OpenedLane
from service.lane.server import LaneServer


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # its gateway ends it
    source, sink = os.dup(0), os.dup(1)
    os.dup2(2, 1)  # what a library prints must not get between the answers
    LaneServer(OpenedLane(Path(sys.argv[1])), source, sink).run()


if __name__ == "__main__":
    main()
