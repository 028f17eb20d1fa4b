"""Where the embedded broker of an engine listens."""

import socket

import pytest

from service.broker import ports
from service.broker.embedded import EmbeddedBroker
from service.broker.ports import free_ports, is_free, last_port, ports_of
from service.startup_errors import BrokerError


@pytest.fixture
def usual(monkeypatch):
    """A free port in place of 9092, which others on this machine may have."""
    port = free_ports()[0]
    monkeypatch.setattr(ports, "USUAL_PORT", port)
    return port


@pytest.fixture
def lines():
    return []


@pytest.fixture
def settings(tmp_path):
    return tmp_path / "server.properties"


def taken(port):
    return socket.create_server(("127.0.0.1", port))


def of_last_run(folder, port):
    """The settings that a run leaves in its folder."""
    broker = EmbeddedBroker(folder)
    broker._ports = (port, 20_000)
    broker._write_settings()


def test_the_usual_port_of_kafka_is_used_if_it_is_free(usual, settings, lines):
    broker, controller = ports_of(settings, 0, lines.append)
    assert broker == usual != controller
    assert is_free(controller)
    assert lines == []


def test_another_one_is_told(usual, settings, lines):
    with taken(usual):
        broker, _ = ports_of(settings, 0, lines.append)
    assert broker != usual
    assert lines == [f"port {usual} is taken: the embedded broker uses {broker}"]


def test_a_folder_keeps_its_port(usual, settings, lines):
    port = free_ports()[0]
    of_last_run(settings.parent, port)
    assert last_port(settings) == port
    assert ports_of(settings, 0, lines.append)[0] == port
    assert lines == []
    with taken(port):
        assert ports_of(settings, 0, lines.append)[0] == usual
    assert lines == [f"port {port} is taken: the embedded broker uses {usual}"]


def test_a_port_that_is_named_is_used_or_refused(usual, settings, lines):
    port = free_ports()[0]
    of_last_run(settings.parent, usual)
    assert ports_of(settings, port, lines.append)[0] == port
    with taken(port), pytest.raises(BrokerError, match=f"broker_port={port}: another program"):
        ports_of(settings, port, lines.append)


def test_brokers_made_without_a_port_do_not_want_the_same(usual, tmp_path):
    assert EmbeddedBroker(tmp_path)._choose_ports()[0] != usual
