"""Who may come in through the HTTP door, and what for."""

import hashlib
import time

import pytest

from bench.certificates import Authority
from service.gateway.tokens import digest_of, new_token, table_of
from service.http_settings import HttpSettings, HttpToken, read_http
from service.setting_values import SettingsError
from service.settings import load
from tests.service.gateway.test_asking import problem

READ, WRITE, ADMIN, FOREX, OLD = "r-token", "w-token", "a-token", "f-token", "o-token"


def token(text, *scopes, **more) -> HttpToken:
    return HttpToken(hashlib.sha256(text.encode()).hexdigest(), scopes, **more)


TOKENS = {
    "reader": token(READ, "read"),
    "writer": token(WRITE, "read", "write"),
    "admin": token(ADMIN, "read", "write", "admin"),
    "forex": token(FOREX, "read", "write", "admin", datasets=("For*",)),
    "old": token(OLD, "read", expires="2020-01-01T00:00:00Z"),
}
CREATE = {"dataset": "Forex", "kind": "count_min", "key": "trader"}


def bearer(text):
    return {"Authorization": f"Bearer {text}"}


@pytest.fixture
def guarded(serve):
    return serve(tokens=TOKENS)


def test_nobody_comes_in_without_a_token_that_is_known(guarded):
    for headers in (
        {},
        bearer("nonsense"),
        {"Authorization": "Bearer"},
        bearer(OLD),
        {"Authorization": f"Basic {READ}"},
        {"Cookie": "sde_session=nonsense"},
    ):
        refused = guarded.http.get("/v1/synopses", headers=headers)
        assert (refused.status_code, problem(refused)["code"]) == (401, "unauthorized")
        assert refused.headers["www-authenticate"] == "Bearer"
        assert "nonsense" not in refused.text
    assert guarded.http.get("/v1/synopses", params={"token": READ}).status_code == 401
    assert guarded.http.get("/v1/synopses", headers=bearer(READ)).status_code == 200


def test_probes_and_the_document_need_no_token(guarded):
    for path in ("/livez", "/readyz", "/openapi.json"):
        assert guarded.http.get(path).status_code == 200


def test_metrics_need_a_token_that_reads_all_data_sets(guarded):
    found = {name: guarded.http.get("/metrics", headers=bearer(name)) for name in (READ, FOREX)}
    assert found[READ].status_code == 200
    assert (found[FOREX].status_code, problem(found[FOREX])["code"]) == (403, "forbidden")
    assert guarded.http.get("/metrics").status_code == 401


def test_a_token_may_do_what_its_scopes_say(guarded):
    put, path = guarded.http.put, "/v1/synopses/trades"
    assert put(path, json=CREATE, headers=bearer(READ)).status_code == 403
    assert put(path, json=CREATE, headers=bearer(WRITE)).status_code == 201
    ask = "/v1/synopses/trades/estimate"
    body = {"query": {"key": "ann"}}
    assert guarded.http.post(ask, json=body, headers=bearer(READ)).status_code == 200
    source = {"topic": "t", "dataset": "Forex", "stream": "s"}
    assert put("/v1/sources/t", json=source, headers=bearer(WRITE)).status_code == 403
    assert put("/v1/sources/t", json=source, headers=bearer(ADMIN)).status_code == 200


def test_a_token_for_some_data_sets_sees_no_other(guarded):
    def ask(method, path, key, **more):
        return guarded.http.request(method, path, headers=bearer(key), **more).status_code

    for uid, dataset in (("a", "Forex"), ("b", "Web")):
        body = {**CREATE, "dataset": dataset}
        assert ask("PUT", f"/v1/synopses/{uid}", ADMIN, json=body) == 201
    assert ask("PUT", "/v1/synopses/c", FOREX, json={**CREATE, "dataset": "Web"}) == 403
    assert ask("PUT", "/v1/synopses/c", FOREX, json=CREATE) == 201
    question = {"query": {"key": "x"}}
    for uid, status in (("a", 200), ("b", 403)):
        path = f"/v1/synopses/{uid}"
        assert ask("GET", path, FOREX) == status
        assert ask("POST", f"{path}/estimate", FOREX, json=question) == status
        assert ask("GET", f"{path}/state", FOREX) == status
        watch = {**question, "every": "1s"}
        begun = ask("POST", f"{path}/watches", FOREX, json=watch)
        assert begun == (201 if status == 200 else 403)
    both = {"uids": ["a", "b"], **question}
    assert ask("POST", "/v1/watches", FOREX, json={**both, "every": "1s"}) == 403
    told = guarded.http.post("/v1/estimates", json=[both], headers=bearer(FOREX)).json()
    assert told[0]["status"] == 403
    assert ask("GET", "/v1/synopses", FOREX) == 403
    assert ask("GET", "/v1/synopses", FOREX, params={"dataset": "Forex"}) == 200
    assert ask("GET", "/v1/watches", FOREX, params={"uid": "b"}) == 403
    for path in ("/v1/sources", "/v1/sources/x", "/v1/snapshots"):
        assert ask("GET", path, FOREX) == 403
    for path in ("/v1/kinds", "/v1/plugins", "/v1/sites"):
        assert ask("GET", path, FOREX) == 200
    for dataset, status in (("Forex", 200), ("Web", 403)):
        headers = {**bearer(FOREX), "Content-Type": "application/x-ndjson"}
        path = f"/v1/datasets/{dataset}/tuples"
        sent = guarded.http.post(path, content=b'{"stream": "s", "x": 1}', headers=headers)
        assert sent.status_code == status


def test_a_watch_of_another_data_set_is_neither_followed_nor_ended(guarded):
    body = {**CREATE, "dataset": "Web"}
    guarded.http.put("/v1/synopses/b", json=body, headers=bearer(ADMIN))
    headers = {**bearer(ADMIN), "Idempotency-Key": "w"}
    watch = {"query": {"key": "x"}, "every": "1s"}
    guarded.http.post("/v1/synopses/b/watches", json=watch, headers=headers)
    assert guarded.http.get("/v1/watches/w/events", headers=bearer(FOREX)).status_code == 403
    assert guarded.http.delete("/v1/watches/w", headers=bearer(FOREX)).status_code == 403
    assert guarded.http.delete("/v1/watches/x", headers=bearer(FOREX)).status_code == 404
    assert guarded.http.delete("/v1/watches/w", headers=bearer(ADMIN)).status_code == 200


def test_the_key_of_another_request_does_not_show_its_outcome(guarded):
    body = {**CREATE, "dataset": "Web"}
    key = {"Idempotency-Key": "mine"}
    guarded.http.put("/v1/synopses/b", json=body, headers={**bearer(ADMIN), **key})
    stolen = guarded.http.put("/v1/synopses/x", json=CREATE, headers={**bearer(FOREX), **key})
    assert (stolen.status_code, "Web" in stolen.text) == (403, False)


def test_a_browser_gets_a_cookie_that_serves_as_a_token(guarded):
    assert guarded.http.post("/v1/session").status_code == 401
    begun = guarded.http.post("/v1/session", headers=bearer(WRITE))
    assert begun.status_code == 204
    cookie = begun.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/v1"} <= set(cookie.split("; "))
    assert "Secure" not in cookie
    session = {"Cookie": cookie.partition(";")[0]}
    assert guarded.http.get("/v1/synopses", headers=session).status_code == 200
    put, path = guarded.http.put, "/v1/synopses/trades"
    for origin in ({}, {"Origin": "https://evil.example"}, {"Origin": "null"}):
        assert put(path, json=CREATE, headers={**session, **origin}).status_code == 403
    here = {"Origin": guarded.url}
    assert put(path, json=CREATE, headers={**session, **here}).status_code == 201
    ended = guarded.http.delete("/v1/session", headers={**session, **here})
    assert (ended.status_code, "Max-Age=0" in ended.headers["set-cookie"]) == (204, True)


def test_without_tokens_there_are_no_sessions(served):
    assert served.http.post("/v1/session", headers=bearer(READ)).status_code == 401


def test_a_page_of_another_site_can_do_nothing_where_no_token_is_needed(served):
    evil = {"Origin": "https://evil.example"}
    assert served.http.put("/v1/synopses/u", json=CREATE, headers=evil).status_code == 403
    assert served.http.delete("/v1/synopses/u", headers=evil).status_code == 403
    rebound = {"Host": "evil.example"}
    assert served.http.get("/v1/synopses", headers=rebound).status_code == 403
    assert served.http.get("/v1/synopses", headers={"Host": "localhost:1"}).status_code == 200


def test_who_asks_too_often_waits(serve):
    served = serve(requests_per_second=1.0, tokens=TOKENS)
    told = [served.http.get("/livez") for _ in range(5)]
    assert [each.status_code for each in told[:2]] == [200, 200]
    assert told[-1].status_code == 429
    assert problem(told[-1])["code"] == "too_many_requests"
    assert int(told[-1].headers["retry-after"]) >= 1
    assert served.http.get("/livez", headers=bearer(READ)).status_code == 200  # its own bucket
    assert served.http.get("/livez", headers=bearer("guess")).status_code == 429


def test_every_response_has_the_headers_that_keep_browsers_careful(guarded):
    for reply in (
        guarded.http.get("/livez"),
        guarded.http.get("/nowhere"),
        guarded.http.get("/v1/synopses"),
        guarded.http.post("/v1/session", headers=bearer(READ)),
    ):
        assert reply.headers["content-security-policy"].startswith("default-src 'none'")
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert "server" not in reply.headers


def test_tls_serves_with_certificate_and_key(serve, tmp_path):
    signed = Authority(tmp_path, "authority").sign("gateway", ["127.0.0.1"])
    served = serve(certificate=signed.certificate, private_key=signed.key, tokens=TOKENS)
    begun = served.http.post("/v1/session", headers=bearer(READ))
    assert "; Secure" in begun.headers["set-cookie"]
    with served.connect() as plain:
        plain.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert not plain.recv(100).startswith(b"HTTP")


def test_any_other_address_than_loopback_needs_tokens():
    for listen in ("0.0.0.0:8088", "[::]:8088", "engine.example:80"):
        with pytest.raises(SettingsError, match="sde gateway token NAME"):
            HttpSettings(listen=listen)
        assert HttpSettings(listen=listen, tokens=TOKENS).listen == listen
    for listen in ("127.0.0.1:8088", "localhost:1", "[::1]:0"):
        assert HttpSettings(listen=listen).listen == listen


def test_a_new_token_fits_the_table_that_is_printed_for_it(tmp_path):
    made = new_token()
    file = tmp_path / "sde.toml"
    file.write_text(table_of("ui", made, "read,write", "For*", "2030-01-01"))
    (read,) = load(file, {}, {}).http.tokens.values()
    assert read.sha256 == digest_of(made)
    assert (read.scopes, read.datasets) == (("read", "write"), ("For*",))
    assert read.end > time.time()
    assert made not in file.read_text()
    assert new_token() != made


def test_a_flag_says_where_to_listen_and_the_table_the_rest(tmp_path):
    file = tmp_path / "sde.toml"
    file.write_text("[http]\nlisten = '127.0.0.1:1'\nevent_streams = 7")
    for settings in (
        load(file, {"http": "127.0.0.1:2"}, {}),
        load(file, {}, {"SDE_HTTP": "[::1]:2"}),
    ):
        assert settings.http.address[1] == 2
        assert settings.http.event_streams == 7
    assert load(None, {"http": "127.0.0.1:3"}, {}).http.address == ("127.0.0.1", 3)
    assert load(None, {}, {}).http.listen == ""


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ({"listen": "8088"}, "http='8088': expected HOST:PORT"),
        ({"listen": "127.0.0.1:70000"}, "expected HOST:PORT"),
        (7, "http=7: expected HOST:PORT or a table"),
        ({"events": 1}, "unknown setting 'events' in the table .http."),
        ({"event_streams": 0}, "http.event_streams=0: expected more than 0"),
        ({"certificate": "c.pem"}, "http.certificate, http.private_key: expected both"),
        ({"tokens": 1}, "expected tables"),
        ({"tokens": {"a": 1}}, "http.tokens.a=1: expected a table"),
        ({"tokens": {"a": {"sha256": "0" * 64}}}, "expected `sha256` and `scopes`"),
        ({"tokens": {"a": {"sha256": "x", "scopes": []}}}, "expected 64 hexadecimal digits"),
        ({"tokens": {"a": {"sha256": "0" * 64, "scopes": ["all"]}}}, "'all': expected read"),
        (
            {"tokens": {"a": {"sha256": "0" * 64, "scopes": [], "expires": "soon"}}},
            "expires='soon': expected ISO 8601",
        ),
    ],
)
def test_a_wrong_setting_is_named(said, names):
    with pytest.raises(SettingsError, match=names):
        read_http(said)
