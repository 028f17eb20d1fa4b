"""Where the engine is, for Python and the shell alike."""

import pytest
from click.testing import CliRunner
from engine_folder import SERVERS, engine, write_status

from clients import AnswerTimeout, BadInput, Client, InMemoryTransport, Topics, Unreachable
from clients.address import EngineFolder, transport_to
from clients.cli import main
from clients.kafka import KafkaTransport


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """Where we are; there is nothing in it."""
    monkeypatch.delenv("SDE_DATA_DIR", raising=False)
    monkeypatch.delenv("SDE_BOOTSTRAP_SERVERS", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_client_without_arguments_finds_the_engine_of_this_folder(folder):
    names = {"data": ["d1", "d2"], "requests": "r", "output": "o", "dead_letters": "l"}
    with engine(folder / "sde-data", topics=names):
        transport = transport_to(None)
    assert isinstance(transport, KafkaTransport)
    assert transport._settings == {"bootstrap.servers": SERVERS}
    assert transport.topics == Topics(data="d1", requests="r", output="o", dead_letters="l")


def test_the_data_folder_can_be_elsewhere(folder, monkeypatch):
    monkeypatch.setenv("SDE_DATA_DIR", str(folder / "elsewhere"))
    with engine(folder / "elsewhere"):
        assert EngineFolder().running().bootstrap_servers == SERVERS


def test_what_the_user_says_comes_before_the_environment_and_that_before_the_folder(
    folder, monkeypatch
):
    with engine(folder / "sde-data"):
        monkeypatch.setenv("SDE_BOOTSTRAP_SERVERS", "there:1")
        assert transport_to("here:1")._settings == {"bootstrap.servers": "here:1"}
        assert transport_to(None)._settings == {"bootstrap.servers": "there:1"}
    own = InMemoryTransport()
    assert transport_to(own) is own


def test_topics_are_named_for_an_engine_elsewhere_all_or_some(folder):
    every = Topics(data="d", requests="r", output="o", dead_letters="l")
    assert transport_to("here:1", topics=every).topics == every
    assert transport_to("here:1", topics={"data": "d"}).topics == Topics(data="d")
    with engine(folder / "sde-data", topics={"data": ["found"], "output": "o"}):
        named = transport_to(None, topics={"output": "other"}).topics
    assert named == Topics(data="found", output="other")


def test_topics_of_a_role_that_there_is_not_or_beside_a_transport_are_refused():
    with pytest.raises(BadInput, match=r"request='r': expected one of .* Did you mean requests\?$"):
        Client("here:1", topics={"request": "r"})
    with pytest.raises(BadInput, match="topics: expected with an address"):
        Client(InMemoryTransport(), topics=Topics())


@pytest.mark.parametrize(("timeout", "waits"), [("500ms", 0.5), (60, 10.0)])
def test_a_client_waits_for_its_kafka_no_longer_than_for_an_answer(timeout, waits):
    assert Client("here:1", timeout=timeout)._transport._seconds_to_connect == waits


def test_no_engine_says_what_to_do():
    expected = r"sde serve.*SDE_DATA_DIR.*Client\('HOST:PORT'\).*--bootstrap-servers"
    with pytest.raises(Unreachable, match=expected):
        Client()
    result = CliRunner().invoke(main, ["list"])
    assert result.exit_code == 1
    assert "sde serve" in result.stderr


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"bootstrap_servers": "x", "topics": 1}'])
def test_a_damaged_address_file_is_named(folder, text):
    (folder / "sde-data").mkdir()
    (folder / "sde-data" / "address.json").write_text(text)
    with pytest.raises(Unreachable, match=r"address\.json"):
        Client()


@pytest.mark.parametrize("command", [["list"], ["describe", "u"], ["topics"], ["tail"]])
def test_an_engine_that_was_killed_is_gone_at_once_for_every_command(folder, command):
    with engine(folder / "sde-data", pid=4711):
        pass
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 1
    assert "the engine (pid 4711) of sde-data is gone" in result.stderr
    with pytest.raises(Unreachable, match=r"\(pid 4711\) of sde-data is gone"):
        Client()


def test_an_engine_that_starts_is_not_unknown(folder):
    with engine(folder / "sde-data", pid=4711):
        (folder / "sde-data" / "address.json").unlink()
        with pytest.raises(Unreachable, match=r"\(pid 4711\) of sde-data is starting"):
            Client()
        away = {"kafka_away_since": 1, "kafka_problem": "refused"}
        write_status(folder / "sde-data", state="starting", **away)
        with pytest.raises(Unreachable, match=r"\(pid 4711\) .* waits for its Kafka.*: refused"):
            Client()


def test_an_address_without_a_lock_is_believed(folder):
    """As of an engine whose folder is on another machine."""
    with engine(folder / "sde-data"):
        (folder / "sde-data" / "lock").unlink()
    assert EngineFolder().running().bootstrap_servers == SERVERS


class Silent(KafkaTransport):
    """Kafka takes every request, and nobody answers."""

    _requests = ()

    def listen(self, on_reply):
        pass

    def send_request(self, request, on_failure):
        pass

    def close(self):
        pass


def silence(transport):
    with Client(transport, timeout=0.01) as sde, pytest.raises(AnswerTimeout) as caught:
        sde.delete("u")
    return str(caught.value)


def test_without_an_answer_from_anywhere_both_reasons_are_named():
    text = silence(Silent(SERVERS, topics=Topics(requests="r")))
    assert "within 0.01 s: either no engine reads topic 'r' of Kafka at 127.0.0.1:1" in text
    assert "or it is busy" in text


def test_a_request_that_kafka_did_not_take_is_told():
    class Stuck(Silent):
        _requests = ("a request",)

    assert "Kafka at 127.0.0.1:1 has not taken it yet" in silence(Stuck(SERVERS))


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ({"lag": 12_000}, "the engine (pid 7) runs, 12,000 messages behind; it may be busy"),
        ({"state": "recovering"}, "the engine (pid 7) is recovering"),
        (
            {"kafka_away_since": 1, "kafka_problem": "refused"},
            "the engine (pid 7) waits for its Kafka, which does not answer: refused",
        ),
    ],
)
def test_what_the_engine_of_the_folder_wrote_down_is_told(folder, status, expected):
    data = folder / "sde-data"
    with engine(data, pid=7):
        write_status(data, **status)
        transport = Silent(SERVERS, why_silent=lambda: EngineFolder().why_silent(SERVERS))
        assert expected in silence(transport)
        assert EngineFolder().why_silent("another:1") == ""


def test_an_engine_that_ends_while_one_waits_is_told(folder):
    found = EngineFolder()
    with engine(folder / "sde-data", pid=7):
        found.running()
    (folder / "sde-data" / "address.json").unlink()
    assert "the engine (pid 7) of sde-data is gone" in found.why_silent(SERVERS)
