"""Plug-ins of the client: files, keys and signatures, and the requests made of them."""

import base64
import hashlib
import stat
import subprocess
import sys

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from clients import BadInput, Client, InMemoryTransport
from clients.plugins import PluginInfo, make_key, read_plugin, sign
from sde.wire import Plugin, Plugins, Release, Unplug, decode_request
from sde.wire.plugins import signed_bytes

TOLD = {
    "name": "fence",
    "version": 2,
    "kind": "fence@2",
    "sha256": "ab",
    "key": "c2Vj",
    "state": "quarantined",
    "reason": "it looped",
    "added": 1_704_110_400_000,
    "synopses": 3,
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "fence.py"
    path.write_bytes("# Zäune\r\nx = 1\n".encode())
    return path


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "key.pem"
    make_key(path)
    return path


def test_a_file_is_sent_as_it_is_under_its_name(file) -> None:
    read = read_plugin(file)
    assert read.source == "# Zäune\r\nx = 1\n"
    assert read.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    assert (read.name, read_plugin(str(file), "other").name) == ("fence", "other")


def test_the_signature_is_of_this_source_under_this_name(file, key) -> None:
    signed = sign(read_plugin(file), key)
    public = Ed25519PublicKey.from_public_bytes(signed.key_bytes)
    signature = signed.signature_bytes
    public.verify(signature, signed_bytes("fence", signed.sha256))
    for name, digest in (("other", signed.sha256), ("fence", "0" * 64)):
        with pytest.raises(InvalidSignature):
            public.verify(signature, signed_bytes(name, digest))


def test_a_key_is_for_its_owner_only_and_never_written_over(tmp_path) -> None:
    path = tmp_path / "key.pem"
    public = make_key(path)
    assert len(base64.b64decode(public, validate=True)) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_bytes()
    with pytest.raises(BadInput, match="exists already"):
        make_key(path)
    assert path.read_bytes() == before
    with pytest.raises(BadInput, match="No such file"):
        make_key(tmp_path / "nowhere" / "key.pem")


def test_the_key_in_the_request_is_the_one_keygen_told(file, tmp_path) -> None:
    public = make_key(tmp_path / "mine.pem")
    assert sign(read_plugin(file), tmp_path / "mine.pem").key == public


def test_what_is_no_ed25519_key_is_refused(file, tmp_path) -> None:
    def written(name, encryption, private):
        pem = private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
        )
        (tmp_path / name).write_bytes(pem)

    other = generate_private_key(SECP256R1())
    written("other.pem", serialization.NoEncryption(), other)
    written("locked.pem", serialization.BestAvailableEncryption(b"secret"), other)
    (tmp_path / "text.pem").write_text("not a key")
    for name in ("other.pem", "locked.pem", "text.pem"):
        with pytest.raises(BadInput, match="expected an Ed25519 private key in PEM"):
            sign(read_plugin(file), tmp_path / name)
    with pytest.raises(BadInput, match="No such file"):
        sign(read_plugin(file), tmp_path / "none.pem")


@pytest.mark.parametrize("name", ["my-fence", "Fence", "1st", "_x", "a" * 51, "a/b"])
def test_a_name_that_no_kind_can_have_is_refused_before_it_is_sent(file, name) -> None:
    with pytest.raises(BadInput, match="expected a small letter"):
        read_plugin(file, name)


def test_a_file_that_is_missing_or_no_text_is_refused(tmp_path) -> None:
    with pytest.raises(BadInput, match=r"none\.py: No such file"):
        read_plugin(tmp_path / "none.py")
    (tmp_path / "latin.py").write_bytes(b"# \xff")
    with pytest.raises(BadInput, match="UTF-8"):
        read_plugin(tmp_path / "latin.py")


def test_the_client_releases_and_migrates(file) -> None:
    def handler(request):
        return {"value": ["fence@1"] if request["op"] == "release" else {**TOLD, "moved": 3}}

    transport = InMemoryTransport(handler)
    sde = Client(transport)
    assert sde.add_plugin(file, migrate=True).moved == 3
    assert sde.release_plugin("fence", 1) == ("fence@1",)
    added, released = (decode_request(dict(r), "requests-0-0") for r in transport.requests)
    assert isinstance(added, Plugin)
    assert added.migrate
    assert isinstance(released, Release)
    assert (released.name, released.version) == ("fence", 1)


def test_the_client_adds_lists_and_removes(file, key) -> None:
    def handler(request):
        return {"value": [TOLD] if request["op"] == "plugins" else TOLD}

    transport = InMemoryTransport(handler)
    sde = Client(transport)
    added = sde.add_plugin(file, key=key)
    sde.add_plugin(str(file), "other")
    assert sde.plugins() == (added,)
    sde.remove_plugin("fence", 2)
    sde.remove_plugin("fence")
    signed, unsigned, listed, one, every = (
        decode_request(dict(request), "requests-0-0") for request in transport.requests
    )
    assert isinstance(signed, Plugin)
    assert (signed.name, len(signed.key_bytes), len(signed.signature_bytes)) == ("fence", 32, 64)
    assert (unsigned.name, unsigned.key_bytes, unsigned.signature_bytes) == ("other", b"", b"")
    assert signed.source == unsigned.source
    assert isinstance(listed, Plugins)
    assert isinstance(one, Unplug)
    assert (one.name, one.version, every.version) == ("fence", 2, None)


def test_what_the_engine_tells_of_a_plug_in_is_typed() -> None:
    info = PluginInfo.of(TOLD)
    names = TOLD.keys() - {"sha256"}
    assert {name: getattr(info, name) for name in names} == {name: TOLD[name] for name in names}
    assert info.raw == TOLD


def test_without_cryptography_the_error_says_what_to_install(tmp_path) -> None:
    code = """
import sys
sys.modules["cryptography"] = None
import clients.plugins
try:
    clients.plugins.make_key(sys.argv[1])
except clients.ClientError as error:
    print(error)
"""
    command = [sys.executable, "-c", code, str(tmp_path / "key.pem")]
    assert "pip install cryptography" in subprocess.check_output(command, text=True)


def test_the_client_does_not_import_cryptography_before_it_signs() -> None:
    code = "import sys, clients.cli; print('cryptography' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "False"
