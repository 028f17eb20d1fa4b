"""Peers in the settings: what is wrong is named, secrets are never shown."""

import pytest

from service.peer_settings import Peer
from service.setting_values import SettingsError
from service.settings import load

SECRET = "sixteen letters!"
GOOD = f'bootstrap_servers = "b:9092"\nsecret = "{SECRET}"\n'


def from_file(tmp_path, text):
    path = tmp_path / "sde.toml"
    path.write_text(text)
    return load(path, {}, {})


def test_peers_are_tables_with_defaults(tmp_path):
    settings = from_file(tmp_path, f'site = "a"\n[peers.b]\n{GOOD}[peers.b.kafka]\nx = 1')
    assert settings.peers == {"b": Peer("b:9092", SECRET, kafka={"x": "1"})}
    assert settings.peers["b"].kafka_config == {"bootstrap.servers": "b:9092", "x": "1"}
    assert settings.peers["b"].topic == "sde-peers"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (f'[peers.b]\nsecret = "{SECRET}"', "peers.b.bootstrap_servers"),
        ('[peers.b]\nbootstrap_servers = "b"', "peers.b.secret"),
        ('[peers.b]\nbootstrap_servers = "b"\nsecret = "short"', "peers.b.secret"),
        (f"[peers.b]\n{GOOD}nonsense = 5", "peers.b.nonsense"),
        (f"[peers.main]\n{GOOD}", "peers.main"),
        (f'[peers.b]\n{GOOD}union = "sde-union"', "peers.b.union"),
        ("[peers]\nb = 5", "peers.b"),
    ],
)
def test_a_mistake_is_named(tmp_path, text, named):
    with pytest.raises(SettingsError, match=named) as caught:
        from_file(tmp_path, text)
    assert SECRET not in str(caught.value)
    assert "short" not in str(caught.value)


def test_a_secret_is_not_shown(tmp_path):
    settings = from_file(tmp_path, f'site = "a"\n[peers.b]\n{GOOD}')
    assert SECRET not in repr(settings)
