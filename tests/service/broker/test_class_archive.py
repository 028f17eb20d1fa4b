"""The archive of Kafka's classes. That brokers start with it every test with a broker proves."""

import subprocess

from service.broker.class_archive import archive, java_options
from service.java import find_java


def test_an_archive_is_used_if_it_is_there(tmp_path):
    jars = tmp_path / "broker-1"
    assert java_options(jars) == []
    archive(jars).touch()
    assert archive(jars).parent == tmp_path
    assert java_options(jars) == [f"-XX:SharedArchiveFile={archive(jars)}"]


def test_java_goes_on_without_an_archive_that_does_not_fit(tmp_path):
    jars = tmp_path / "broker-1"
    archive(jars).write_bytes(b"of another Java")
    command = [find_java(), *java_options(jars), "-cp", f"{jars}/*", "-version"]
    started = subprocess.run(command, capture_output=True, text=True)
    assert started.returncode == 0, started.stderr
    assert "version" in started.stderr
