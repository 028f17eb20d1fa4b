"""Python programs out of the nursery behave as if Python itself had started them."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clients.processes import family, runs
from service.spark.nursery import ADDRESS, nursery

PROBE = """
import json, os, sys, __main__
if sys.argv[1] == "tell":
    told = [sys.argv[1:], os.environ["COLOUR"], os.getcwd(), sys.stdin.read(), __main__.__file__]
    print(json.dumps([*told, "numba" in sys.modules]))
    print("aside", file=sys.stderr)
if sys.argv[1] == "exit":
    sys.exit(int(sys.argv[2]))
if sys.argv[1] == "wait":
    print(os.getpid(), flush=True)
    sys.stdin.read()
if sys.argv[1] == "die":
    os.kill(os.getpid(), 9)
"""


@pytest.fixture(scope="module")
def modules(tmp_path_factory):
    folder = tmp_path_factory.mktemp("modules")
    (folder / "probe.py").write_text(PROBE)
    return folder


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    with nursery(tmp_path_factory.mktemp("logs") / "out") as program:
        assert program is not None
        yield program


def start(python, modules, *arguments, **environment):
    given = {**os.environ, "PYTHONPATH": str(modules), "COLOUR": "blue", **environment}
    return subprocess.Popen(
        [python, "-m", "probe", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=modules,
        env=given,
        text=True,
    )


def code_of(process):
    process.communicate()
    return process.returncode


def ends(pid):
    deadline = time.monotonic() + 30
    while runs(pid):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return True


def test_arguments_environment_folder_and_streams_are_those_of_the_caller(python, modules):
    told, aside = start(python, modules, "tell", "a b", COLOUR="red").communicate("some text")
    path = str(modules / "probe.py")
    words = f'[["tell", "a b"], "red", "{modules}", "some text", "{path}", true]\n'
    assert (told, aside) == (words, "aside\n")


@pytest.mark.parametrize("code", [0, 3])
def test_the_exit_code_is_that_of_the_program(python, modules, code):
    assert code_of(start(python, modules, "exit", str(code))) == code


def test_a_program_that_dies_of_a_signal_is_seen_to_die_of_it(python, modules):
    assert code_of(start(python, modules, "die")) == -signal.SIGKILL


def test_a_program_ends_with_the_process_that_its_caller_ends(python, modules):
    launcher = start(python, modules, "wait")
    pid = int(launcher.stdout.readline())
    assert pid in {process.pid for process in family(os.getpid())}
    launcher.kill()
    assert ends(pid)
    code_of(launcher)


def test_many_at_once_each_get_their_own_end(python, modules):
    launchers = [start(python, modules, "exit", str(number)) for number in range(30)]
    assert [code_of(launcher) for launcher in launchers] == list(range(30))


@pytest.mark.parametrize(
    "bytes_", [b"", b"x\n", b"[]\n", b'[["probe"], {}, "/"]\n', b"\xff" * 70_000]
)
def test_whatever_connects_does_not_stop_it(python, modules, bytes_):
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(os.environ[ADDRESS])
        connection.sendall(bytes_)
    assert code_of(start(python, modules, "exit", "5")) == 5


def test_what_is_no_module_is_left_to_python(python):
    said = subprocess.run([python, "-c", "print(6 * 7)"], capture_output=True, text=True)
    assert said.stdout == "42\n"


def test_without_its_nursery_a_program_is_run_by_python(python, modules):
    plain = start(python, modules, "tell", SDE_NURSERY="/nowhere")
    told, _ = plain.communicate("")
    assert told.endswith("false]\n")  # numba was not loaded


def test_all_end_when_the_engine_ends_however_it_ends(modules, tmp_path):
    code = (
        "import sys; from pathlib import Path; from service.spark.nursery import nursery\n"
        "with nursery(Path(sys.argv[1])) as python:\n"
        "    import os; print(python, os.environ['SDE_NURSERY'], flush=True); sys.stdin.read()"
    )
    engine = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "out")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    python, address = engine.stdout.readline().split()
    launcher = start(python, modules, "wait", SDE_NURSERY=address)
    pid = int(launcher.stdout.readline())
    keeper = next(p.pid for p in family(engine.pid) if b"nursery" in p.command and p.pid != pid)
    engine.kill()
    assert ends(pid)
    assert ends(keeper)
    assert code_of(launcher) != 0
    engine.communicate()
    assert not Path(address).parent.exists()


def test_where_nothing_can_be_written_there_is_none(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setattr("service.spark.nursery.installation_folder", lambda: tmp_path / "file")
    with nursery(tmp_path / "out") as program:
        assert program is None
