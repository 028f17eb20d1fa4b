"""A process with the engine's modules loaded, from which Spark's Python processes are forked.

Until an engine answers Spark starts about ten Python processes, one after the other, and each takes
from 0.3 to 1.7 s to load its modules. Here they are loaded once, while Java starts, and are in the
same memory in all of them. Spark runs `launcher.py` in place of Python; that hands its arguments,
environment and standard streams over, and ends as the forked process ends.

The nursery ends with the engine, whose end of a pipe it reads. Without it (Linux only, and a folder
of the installation that can be written) Spark starts Python itself.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import json
import os
import selectors
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from ctypes import CDLL, c_char_p
from pathlib import Path
from typing import NamedTuple

from service.spark.home import installation_folder

ADDRESS = "SDE_NURSERY"  # in the environment: the socket that the launcher connects to
_SECONDS_TO_ASK = 10.0
_LARGEST_REQUEST = 16 << 20
_PR_SET_NAME = 15
# As Spark sets them for its workers; Python and numpy read them when they start.
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1"}
_PROGRAMS = (  # that Spark runs, beside its workers
    "pyspark.worker",
    "pyspark.sql.streaming.python_streaming_source_runner",
    "pyspark.sql.streaming.transform_with_state_driver_worker",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.lookup_data_sources",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.worker.python_streaming_sink_runner",
    "pyspark.sql.worker.write_into_data_source",
    "service.kafka.source",
)


@contextmanager
def nursery(output: Path) -> Iterator[str | None]:
    """Runs in this block; the program to use as Python, None where there can be no nursery.

    What it prints is appended to the file `output`.
    """
    program = _program() if hasattr(os, "pidfd_open") else None
    if program is None:
        yield None
        return
    address = Path(tempfile.mkdtemp(prefix="sde-nursery-")) / "socket"
    with socket.socket(socket.AF_UNIX) as listener, output.open("ab") as file:
        listener.bind(str(address))  # here: who comes early waits until all is loaded
        listener.listen(64)
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(listener.fileno())],
            pass_fds=[listener.fileno()],
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=file,
            env={**os.environ, **_ENVIRONMENT},
        )
    os.environ[ADDRESS] = str(address)
    try:
        yield str(program)
    finally:
        os.environ.pop(ADDRESS, None)
        assert process.stdin is not None
        process.stdin.close()
        process.wait()


def _program() -> Path | None:
    """A script that runs the launcher; None where nothing can be written."""
    path = installation_folder() / "python"
    launcher = Path(__file__).with_name("launcher.py")
    text = f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -IS {shlex.quote(str(launcher))} "$@"\n'
    try:
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            made = path.with_suffix(f".{os.getpid()}.part")
            made.write_text(text)
            made.chmod(0o755)
            made.rename(path)
    except OSError:
        return None
    return path


# -- in the nursery -------------------------------------------------------------------------------


class Request(NamedTuple):
    """A program to run as `python -m arguments[0] ...` would."""

    arguments: list[str]
    environment: dict[str, str]
    folder: str
    streams: list[int]


class _Fork(NamedTuple):
    pid: int
    launcher: socket.socket


def serve(listener: socket.socket, lifeline: int) -> Request | None:
    """Fork for each launcher. Returns in the forks, with what they shall do, and None at the end.

    A fork whose launcher has gone is ended, as all are when the engine has gone.
    """
    loop = selectors.DefaultSelector()
    loop.register(listener, selectors.EVENT_READ)
    loop.register(lifeline, selectors.EVENT_READ)
    forks: dict[int, _Fork] = {}  # by descriptor of the fork
    while True:
        for key, _ in loop.select():
            if key.fileobj is listener:
                connection, _ = listener.accept()
                request = _received(connection)
                if request is None:
                    connection.close()
                    continue
                pid = os.fork()
                if not pid:
                    _let_go(loop, connection, forks)
                    return request
                for stream in request.streams:
                    os.close(stream)
                ends = os.pidfd_open(pid)
                forks[ends] = _Fork(pid, connection)
                loop.register(ends, selectors.EVENT_READ)
                loop.register(connection, selectors.EVENT_READ, pid)
            elif key.fd == lifeline:
                for fork in forks.values():
                    os.kill(fork.pid, signal.SIGTERM)
                return None
            elif key.fd in forks:
                fork = forks.pop(key.fd)
                _tell_end(fork)
                loop.unregister(key.fd)
                os.close(key.fd)
                with suppress(KeyError):  # its launcher had gone
                    loop.unregister(fork.launcher)
                fork.launcher.close()
            else:  # a launcher has nothing more to say: it is gone
                loop.unregister(key.fileobj)
                if any(fork.pid == key.data for fork in forks.values()):
                    os.kill(key.data, signal.SIGTERM)


def _received(connection: socket.socket) -> Request | None:
    """What a launcher asks for; None if it is gone before it has said it."""
    connection.settimeout(_SECONDS_TO_ASK)
    try:
        data, streams, _, _ = socket.recv_fds(connection, 1 << 16, 3)
        while not data.endswith(b"\n") and len(data) < _LARGEST_REQUEST:
            more = connection.recv(1 << 16)
            if not more:
                return None
            data += more
        arguments, environment, folder = json.loads(data)
    except (OSError, ValueError):
        return None
    return Request(arguments, environment, folder, list(streams)) if len(streams) == 3 else None


def _tell_end(fork: _Fork) -> None:
    _, status = os.waitpid(fork.pid, 0)
    with suppress(OSError):
        fork.launcher.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def _let_go(
    loop: selectors.BaseSelector, connection: socket.socket, forks: Mapping[int, _Fork]
) -> None:
    """What a fork must not hold: launchers would seem to be there still."""
    loop.close()
    connection.close()
    for ends, fork in forks.items():
        os.close(ends)
        fork.launcher.close()


def run(request: Request) -> None:
    """Be the program that is asked for."""
    for number, stream in enumerate(request.streams):
        os.dup2(stream, number)
        os.close(stream)
    for signal_number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signal_number, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(request.environment)
    os.chdir(request.folder)
    paths = request.environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[1:1] = [path for path in paths if path and path not in sys.path]
    name = request.arguments[0]
    spec = importlib.util.find_spec(name)
    if spec is None or spec.loader is None or spec.origin is None:
        raise ModuleNotFoundError(name)
    _call_process(request.arguments[-1].rpartition(".")[2])
    main = types.ModuleType("__main__")
    main.__spec__, main.__file__, main.__package__ = spec, spec.origin, spec.parent
    sys.modules["__main__"] = main
    sys.argv = [spec.origin, *request.arguments[1:]]
    code = spec.loader.get_code(name)  # type: ignore[attr-defined]
    exec(code, main.__dict__)


def _call_process(name: str) -> None:
    """The name that tools show; the arguments stay those of the nursery."""
    with suppress(OSError, AttributeError):
        CDLL(None).prctl(_PR_SET_NAME, c_char_p(name.encode()), 0, 0, 0)


def _serve_at(listener: socket.socket) -> Request | None:
    for ignored in (signal.SIGINT, signal.SIGTERM):  # the engine ends it when Spark has ended
        signal.signal(ignored, signal.SIG_IGN)
    address = Path(listener.getsockname())
    with listener:
        for name in (*LOADED_FOR_WORKERS, *_PROGRAMS):
            importlib.import_module(name)
        gc.freeze()
        request = serve(listener, 0)
    if request is None:
        shutil.rmtree(address.parent, ignore_errors=True)
    return request


if __name__ == "__main__":
    from service.spark.daemon import LOADED_FOR_WORKERS

    asked = _serve_at(socket.socket(fileno=int(sys.argv[1])))
    if asked is not None:
        run(asked)
