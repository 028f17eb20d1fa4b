import os
import subprocess
import sys

from bench.processes import processor_seconds, seconds_of, task_workers
from clients.processes import family, folder_bytes, memory, runs

WAITS = "import sys; sys.stdin.read()"


def test_a_family_has_the_children_of_children():
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WAITS!r}])"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    try:
        while len(family(child.pid)) < 2:
            assert child.poll() is None
        first, second = family(child.pid)
        assert (first.pid, second.parent) == (child.pid, child.pid)
        assert child.pid in {process.pid for process in family(os.getpid())}
    finally:
        child.communicate()
    assert not runs(child.pid)


def test_a_process_that_ended_does_not_run_even_before_it_is_waited_for():
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not runs(child.pid)
    child.wait()
    assert runs(os.getpid())


def test_processor_time_is_what_a_process_worked_not_how_long_it_lived():
    code = f"import time\nwhile time.process_time() < 0.6: pass\n{WAITS}"
    busy = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    idle = subprocess.Popen([sys.executable, "-c", WAITS], stdin=subprocess.PIPE)
    try:
        while processor_seconds(busy.pid)["other Python"] < 0.3:
            assert busy.poll() is None
        assert seconds_of(idle.pid) < 0.3
        assert processor_seconds(busy.pid)["Spark's JVM"] == 0
    finally:
        busy.communicate()
        idle.communicate()
    assert seconds_of(busy.pid) == 0


def test_a_process_without_spark_has_no_task_workers_but_memory():
    child = subprocess.Popen([sys.executable, "-c", WAITS], stdin=subprocess.PIPE)
    try:
        while memory(child.pid)["python"] < 1_000_000:
            assert child.poll() is None
        assert memory(child.pid)["jvm"] == 0
        assert task_workers(child.pid) == []
    finally:
        child.communicate()


def test_a_folder_takes_what_its_files_take(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "file").write_bytes(bytes(range(256)) * 1000)
    with open(tmp_path / "hole", "wb") as hole:
        os.truncate(hole.fileno(), 1 << 30)
    assert 256_000 <= folder_bytes(tmp_path) < 1 << 20
