"""SCRAM, by the example of RFC 7677, and against brokers that cheat."""

import pytest

from service.kafka.scram import Scram, ScramError

NONCE = "rOprNGfwEbeRWgbNEkqO"
FIRST = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@pytest.fixture
def scram():
    return Scram("SCRAM-SHA-256", "user", "pencil", NONCE)


def test_the_example_of_the_standard(scram):
    assert scram.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    assert scram.final(FIRST) == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
        b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    scram.check(FINAL)


def test_a_name_with_signs_of_the_protocol_is_written_otherwise():
    assert Scram("SCRAM-SHA-512", "a=b,c", "x", "n").first() == b"n,,n=a=3Db=2Cc,r=n"


def test_a_broker_without_the_password_is_found_out(scram):
    scram.final(FIRST)
    with pytest.raises(ScramError, match="does not know the password"):
        scram.check(b"v=" + b"A" * 43 + b"=")
    with pytest.raises(ScramError, match="does not know the password"):
        scram.check(b"")
    with pytest.raises(ScramError, match="other-error"):
        scram.check(b"e=other-error")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (FIRST.replace(b"rOpr", b"xxxx"), "not made of ours"),
        (FIRST.replace(b"%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", b""), "not made of ours"),
        (FIRST.replace(b"4096", b"1"), "4096 to 1000000"),
        (FIRST.replace(b"4096", b"99999999999999"), "4096 to 1000000"),
        (FIRST.replace(b"4096", b"-5000"), "4096 to 1000000"),
        (FIRST.replace(b"W22", b"\xc3\xbc22"), "base64"),
        (b"\xff\xfe", "no text"),
        (b"", "not made of ours"),
    ],
)
def test_an_answer_that_allows_no_proof_is_refused(scram, answer, why):
    with pytest.raises(ScramError, match=why):
        scram.final(answer)
