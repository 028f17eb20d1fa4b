"""The console as people use it: a real browser, a real gateway, the real stages behind it."""

import hashlib
import json
from dataclasses import asdict

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from service.http_settings import HttpToken
from tests.service.gateway.conftest import wait_until
from tests.service.gateway.console import showcase
from tests.service.gateway.console.accessibility import shortcomings

HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
SCREENS = (
    "",
    "synopses",
    "create",
    "ask",
    "streams",
    "correlation",
    "batches",
    "dead-letters",
    "sources",
    "snapshots",
    "plugins",
    "sites",
)


def points(window) -> int:
    """How many values the plot on the page has."""
    label = window.find("main figure svg").get_attribute("aria-label") or ": 0 values"
    return int(label.split(": ")[1].split()[0])


@pytest.fixture
def filled(shown, tmp_path):
    showcase.create_all(shown.engine)
    showcase.send_prices(shown.transport, shown.engine.now)
    showcase.send_wrong(shown.engine)
    showcase.write_files(tmp_path, asdict(shown.engine.limits))
    return shown


def test_the_overview_tells_how_the_engine_is(window, filled):
    window.open(filled.url)
    for text in ("running", "48.2K", "1.83K", "7 of 100,000", "bad_encoding"):
        window.sees(text)
    assert window.text("#health") == "ready"


def test_a_synopsis_is_created_with_the_form_and_listed_and_deleted(window, served):
    window.open(served.url, "synopses")
    window.sees("There are no synopses yet.")
    window.driver.find_element(By.LINK_TEXT, "Create the first").click()
    window.choose("Kind", "count_min")
    window.fill("Data set", "Forex")
    window.fill("Name", "a/b ?")
    window.fill("Key field", "trader")
    before = window.find("[data-memory]").get_attribute("data-memory")
    window.fill("epsilon", "0.0001")
    now = window.find("[data-memory]").get_attribute("data-memory")
    assert int(now) > 50 * int(before)
    assert "epsilon=0.0001" in window.text(".shell")
    window.press("Create")
    window.sees("created")
    (row,) = served.http.get("/v1/synopses").json()["value"]
    assert (row["uid"], row["key"], row["params"]["epsilon"]) == ("a/b ?", "trader", 0.0001)
    window.open(served.url, "synopses")
    window.sees("a/b ?", "tbody")
    window.press("Delete")
    window.driver.switch_to.alert.accept()
    window.sees("There are no synopses yet.")


def test_a_fault_is_shown_beside_the_field_that_is_to_blame(window, served):
    window.open(served.url, "create")
    window.fill("Data set", "Forex")
    window.fill("Name", "u")
    window.fill("Key field", "trader")
    window.fill("epsilon", "7")
    window.press("Create")
    window.sees("bad_parameter", "[role=alert]")
    assert window.driver.switch_to.active_element.get_attribute("name") == "epsilon"


def test_lists_are_sorted_by_their_headers(window, filled):
    window.open(filled.url, "synopses")
    window.sees("trades-by-stream", "tbody")

    def first():
        return window.text("tbody tr:first-child th")

    assert first() == "trades-by-stream"  # by bytes
    for name, expected in (("uid", "last-minute"), ("uid", "visitors"), ("bytes", None)):
        header = [e for e in window.all("thead button") if e.text.startswith(name)]
        header[0].click()
        if expected:
            window.wait(lambda expected=expected: first() == expected)
    assert window.find("thead th[aria-sort=descending]").text.startswith("bytes")


def test_a_question_is_answered_with_its_bounds(window, filled):
    window.open(filled.url, "ask?uid=trades&a.key=trader-1")
    window.press("Ask")
    answer = filled.client().estimate("trades", key="trader-1")
    window.sees(f"{answer.value:,.0f}", ".answer strong")
    window.sees("between", ".answer")
    window.open(filled.url, "ask?uid=prices&type=quantile&stream=nobody&a.q=0.5")
    window.press("Ask")
    window.sees("unknown_stream", "[role=alert]")


def test_the_plot_of_a_watch_moves_and_goes_on_after_a_restart_of_the_service(window, filled):
    window.open(filled.url, "ask?uid=trades&a.key=trader-1")
    window.fill("Threshold", ">= 1")
    window.press("Watch")
    window.sees("live", "section[aria-label=Watch]")
    for number in range(1, 4):
        filled.tick(1000 * number)
    window.wait(lambda: points(window) == 3)
    window.sees("above the threshold")
    assert window.all("polygon.band")
    assert window.all("line.mark")
    filled.stop()
    window.sees("the gateway is away", "section[aria-label=Watch]")
    for number in range(4, 7):
        filled.tick(1000 * number)
    filled.start_again()
    window.wait(lambda: points(window) == 6)
    filled.tick(7000)
    window.wait(lambda: points(window) == 7)
    window.press("Stop")
    wait_until(lambda: not filled.http.get("/v1/watches").json()["value"])


def test_dead_letters_are_shown_by_code_with_their_bytes(window, filled):
    window.open(filled.url, "dead-letters")
    window.sees("all 5")
    window.press("bad_encoding 1")
    window.wait(lambda: len(window.all("main details")) == 1)
    window.find("summary").click()
    window.sees("ff fe 00", ".hex")
    assert "code=bad_encoding" in window.text(".shell")


def test_the_graph_of_pairs_follows_the_threshold(window, filled):
    window.open(filled.url, "correlation")
    window.wait(lambda: len(window.all("line.edge")) == 36)
    slider = window.field("Threshold")
    slider.send_keys(Keys.HOME)
    window.wait(lambda: len(window.all("line.edge")) > 36)
    assert window.text("output") == "0.5"


def test_streams_are_tiles_and_the_largest_a_table(window, filled):
    window.open(filled.url, "streams?uid=prices")
    window.wait(lambda: len(window.all("g.tile")) == 24)
    window.choose("By", "answer: quantile")
    window.fill("q", "0.5")
    window.choose("Top", "10")
    window.wait(lambda: len(window.all("tbody tr")) == 10)
    top = filled.client().estimate_streams("prices", q=0.5, top=1)[0]
    window.sees(top.stream, "tbody tr:first-child")


def test_a_source_is_previewed(window, filled):
    window.open(filled.url, "sources")
    window.sees("ticks", "tbody")
    window.fill("Topic", "ticks")
    window.fill("Data set", "Ticks")
    window.fill("Stream", "symbol")
    window.press("Preview")
    window.sees("1 records became 1 tuples")
    window.sees("price 1.07")


def test_batches_watermarks_and_snapshots_are_shown(window, filled):
    window.open(filled.url, "batches")
    window.sees("4,211")
    window.sees("last-minute")
    assert window.all("rect.phase-3")
    window.open(filled.url, "snapshots?uid=trades")
    window.press("Keep a version")
    window.wait(lambda: len(window.all("tbody tr")) == 2)


def test_whoever_needs_a_token_logs_in_and_out(window, serve):
    digest = hashlib.sha256(b"right").hexdigest()
    served = serve(tokens={"all": HttpToken(digest, ("read", "write", "admin"))})
    window.open(served.url, "synopses")
    window.fill("Token", "wrong")
    window.press("Log in")
    window.sees("unauthorized", "[role=alert]")
    window.fill("Token", "right")
    window.press("Log in")
    window.sees("There are no synopses yet.")
    assert "right" not in window.run("return document.cookie + JSON.stringify(localStorage)")
    window.find("#logout").click()
    window.sees("Token", "main form")


def test_a_token_for_a_data_set_shows_that_one_and_nothing_of_all(window, serve, tmp_path):
    digest = hashlib.sha256(b"right").hexdigest()
    tokens = {"forex": HttpToken(digest, ("read",), datasets=("For*",))}
    served = serve(folder=tmp_path, tokens=tokens)
    showcase.create_all(served.engine)
    served.engine.replies(data=[b"{secret"])
    window.open(served.url, "synopses")
    window.fill("Token", "right")
    window.fill("Data set", "Forex")
    window.press("Log in")
    window.sees("trades-by-stream")
    assert "visitors" not in window.text()
    for screen in ("dead-letters", "batches", ""):
        window.open(served.url, screen)
        window.sees("forbidden", "[role=alert]")
        assert "secret" not in window.run("return document.documentElement.outerHTML")


def test_text_of_strangers_is_never_markup(window, shown):
    engine = shown.engine
    definition = {"op": "create", "dataset": HOSTILE, "key": "k"}
    engine.ask(**definition, id="1", uid=HOSTILE, kind="count_min", scope="stream")
    correlated = {**definition, "key": None, "value": "v", "kind": "dft"}
    correlated |= {"params": {"window": 20, "basic_window": 10}, "scope": "stream"}
    engine.ask(**{n: v for n, v in correlated.items() if v}, id="2", uid=f"{HOSTILE} 2")
    rows = [
        {
            "dataset": HOSTILE,
            "stream": f"{HOSTILE}{name}",
            "values": {"k": HOSTILE, "v": float(second * second % 17)},
            "time": engine.now + 1000 * second,
        }
        for second in range(60)
        for name in "ab"
    ]
    engine.replies(data=rows)
    engine.replies(data=[HOSTILE.encode(), json.dumps({"dataset": HOSTILE}).encode()])
    engine.ask(op="source", id="3", name="n", topic="ticks", dataset=HOSTILE, stream=f"'{HOSTILE}'")
    engine.ask(op="snapshot", id="4", uid=HOSTILE)
    for screen in SCREENS[:-1]:
        window.open(shown.url, screen)
        window.find("main h1")
        window.wait(lambda: "Loading" not in window.text())
        assert window.run("return [window.hacked, document.images.length]") == [None, 0]
        assert window.run("return document.body.querySelectorAll('script').length") == 0
    window.open(shown.url, "streams")
    window.sees(HOSTILE, "tbody")
    window.open(shown.url, "correlation")
    window.sees(HOSTILE, "tbody")
    window.open(shown.url, "dead-letters")
    window.find("summary").click()
    window.sees("onerror")


def test_a_command_for_a_shell_is_one_word_for_each_text(window, shown):
    window.open(shown.url)
    script = """
        const done = arguments[arguments.length - 1];
        import("/console/shell.js").then((shell) => done(arguments[0].map(shell.quoted)));
    """
    texts = ["plain", "it's", "$(rm -rf /)", "a\nb", "\x1b[2J", "‮", ""]
    quoted = window.driver.execute_async_script(script, texts)
    assert quoted[:3] == ["plain", "'it'\\''s'", "'$(rm -rf /)'"]
    assert quoted[3:] == [r"$'a\u000ab'", r"$'\u001b[2J'", r"$'\u202e'", "''"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screens_have_names_headers_contrast_and_fit_a_phone(window, filled, scheme):
    devtools = window.driver.execute_cdp_cmd
    theme = {"name": "prefers-color-scheme", "value": scheme}
    devtools("Emulation.setEmulatedMedia", {"features": [theme]})
    phone = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": False}
    devtools("Emulation.setDeviceMetricsOverride", phone)
    try:
        for screen in SCREENS[:-1]:
            window.open(filled.url, screen)
            window.find("main h1")
            window.wait(lambda: "Loading" not in window.text())
            assert shortcomings(window) == [], screen
    finally:
        devtools("Emulation.clearDeviceMetricsOverride", {})
        devtools("Emulation.setEmulatedMedia", {"features": []})


def test_the_keyboard_reaches_everything_and_the_focus_follows(window, filled):
    window.open(filled.url)
    window.find("main h1")
    page = window.find("body")
    page.send_keys(Keys.TAB)
    assert window.driver.switch_to.active_element.text == "Skip to the content"
    window.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert window.driver.switch_to.active_element.get_attribute("id") == "main"
    link = window.driver.find_element(By.LINK_TEXT, "Synopses")
    link.send_keys(Keys.ENTER)
    window.wait(lambda: window.driver.switch_to.active_element.text == "Synopses")
    assert window.find("nav [aria-current=page]").text == "Synopses"


def test_the_theme_is_kept(window, filled):
    window.open(filled.url)
    window.wait(lambda: "auto" in window.text("#theme"))
    for _ in range(2):
        window.find("#theme").click()
    window.open(filled.url, "synopses")
    window.wait(lambda: "dark" in window.text("#theme"))
    assert window.run("return getComputedStyle(document.documentElement).colorScheme") == "dark"


def test_a_gateway_that_is_away_is_told_and_the_page_goes_on_by_itself(window, filled):
    window.open(filled.url)
    window.sees("running")
    filled.stop()
    window.sees("Is the service running?")
    filled.start_again()
    window.sees("running", "dl.figures")
