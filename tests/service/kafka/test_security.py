"""TLS and SASL as settings ask for them: what we do ourselves, and what librdkafka does."""

import ssl

import pytest

from bench.certificates import Authority
from service.kafka.direct_consumer import DirectConsumer
from service.kafka.errors import AccessRefused
from service.kafka.fetch import best_way
from service.kafka.plain_consumer import PlainConsumer
from service.kafka.security import security_of

SCRAM = {"sasl.mechanism": "SCRAM-SHA-256", "sasl.username": "ann", "sasl.password": "x"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("ca"), "ca")


@pytest.fixture
def tls(authority):
    return {"security.protocol": "ssl", "ssl.ca.location": str(authority.file)}


@pytest.mark.parametrize(
    ("settings", "way"),
    [
        ({}, DirectConsumer),
        ({"security.protocol": "PLAINTEXT"}, DirectConsumer),
        ({"security.protocol": "SSL", "ssl.ca.pem": "x"}, DirectConsumer),
        ({"security.protocol": "SASL_PLAINTEXT", **SCRAM}, DirectConsumer),
        ({"security.protocol": "sasl_ssl", "ssl.ca.pem": "x", **SCRAM}, DirectConsumer),
        ({"security.protocol": "SASL_PLAINTEXT"}, PlainConsumer),  # Kerberos is the default
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}, PlainConsumer),
        ({"security.protocol": "SSL", "ssl.keystore.location": "k.p12"}, PlainConsumer),
        ({"security.protocol": "SSL", "ssl.crl.location": "revoked.pem"}, PlainConsumer),
        ({"security.protocol": "SSL", "ssl.cipher.suites": "AES256"}, PlainConsumer),
        ({"security.protocol": "QUIC"}, PlainConsumer),
        (
            {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "PLAIN", **SCRAM},
            PlainConsumer,
        ),
    ],
)
def test_what_we_can_do_ourselves_is_done_so(settings, way):
    assert best_way(settings) is way


def test_certificates_and_hosts_are_checked_unless_a_setting_says_not_to(tls):
    context = security_of(tls).tls
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    context = security_of({**tls, "ssl.endpoint.identification.algorithm": "none"}).tls
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, False)
    for no in (False, "false"):
        context = security_of({**tls, "enable.ssl.certificate.verification": no}).tls
        assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)


def test_certificates_may_be_files_folders_and_texts(tls, authority):
    in_text = {"security.protocol": "SSL", "ssl.ca.pem": authority.file.read_text()}
    for settings in (tls, in_text):
        (known,) = security_of(settings).tls.get_ca_certs()
        assert known["subject"] == ((("commonName", "ca"),),)
    folder = {**tls, "ssl.ca.location": str(authority.file.parent)}
    assert security_of(folder).tls.verify_mode == ssl.CERT_REQUIRED


def test_a_client_shows_its_certificate(tls, authority):
    own = authority.sign("client", [], password="its secret")
    files = {
        "ssl.certificate.location": str(own.certificate),
        "ssl.key.location": str(own.key),
        "ssl.key.password": "its secret",
    }
    texts = {
        "ssl.certificate.pem": own.certificate.read_text(),
        "ssl.key.pem": own.key.read_text(),
        "ssl.key.password": "its secret",
    }
    for shown in (files, texts):
        security_of({**tls, **shown})
    for wrong in ({"ssl.key.password": "x"}, {"ssl.key.password": ""}):
        with pytest.raises(
            AccessRefused, match=r"ssl\.key\.location.*ssl\.key\.password"
        ) as caught:
            security_of({**tls, **files, **wrong})
        assert "its secret" not in str(caught.value)


def test_a_file_that_is_missing_or_no_certificate_is_named_by_its_setting(tls, tmp_path):
    (tmp_path / "empty.pem").write_text("")
    for name in ("missing.pem", "empty.pem"):
        with pytest.raises(AccessRefused, match=r"ssl\.ca\.location"):
            security_of({**tls, "ssl.ca.location": str(tmp_path / name)})
