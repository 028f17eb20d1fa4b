"""The client with a real engine in the same process: directly, and through a gateway."""

import base64
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from click.testing import CliRunner

from clients import (
    BadParameter,
    BadQuery,
    BadRequest,
    Client,
    SynopsisExists,
    UnknownSynopsis,
    UnknownVersion,
)
from clients.cli import main
from clients.plugin_template import new_files
from sde.testing import LocalEngine, LocalTransport
from service.http_settings import HttpSettings
from synopses import CountMin, HyperLogLog
from tests.service.gateway.conftest import Served

START = 1_700_000_000_000
ROWS = [("s", {"k": "a", "v": 2.0}, START), ("s", {"k": "b", "v": 3.0}, START + 1000)]
ROWS += [("t", {"k": "a", "v": 5.0}, START + 2000)]


# Over HTTP the answers of a watch come a moment later, and nobody can tell that none comes.
at_once = pytest.mark.parametrize("way", ["directly"], indirect=True)


@pytest.fixture(params=["directly", "over http"])
def way(request, tmp_path) -> Iterator[tuple[LocalTransport, Client]]:
    """What the engine hears, and a client of it."""
    snapshots = tmp_path / "snapshots"
    if request.param == "directly":
        transport = LocalTransport(LocalEngine(snapshots=snapshots))
        yield transport, Client(transport, timeout=0.0)  # replies come before a request returns
    else:
        with ExitStack() as stack:
            served = Served(HttpSettings(listen="127.0.0.1:0"), stack, snapshots=snapshots)
            yield served.transport, stack.enter_context(Client(served.url, timeout=30))


@pytest.fixture
def transport(way) -> LocalTransport:
    return way[0]


@pytest.fixture
def sde(way) -> Client:
    return way[1]


def command(transport, words):
    """The command line, beside a client of the same engine."""
    return CliRunner().invoke(main, words, obj=LocalTransport(transport.engine))


def test_an_answer_has_value_and_bounds(sde) -> None:
    counts = sde.create("count_min", dataset="d", key="k", value="v", epsilon=0.01)
    assert sde.send_many("d", ROWS) == 3
    answer = counts.estimate(key="a")
    assert answer.lower <= 7 <= answer.upper
    assert (answer.value, answer.tuples, answer.missing) == (7.0, 3, {})
    assert answer.raw["uid"] == counts.uid


def test_an_answer_warns_of_a_field_that_no_tuple_has(sde, transport) -> None:
    names = sde.create("hyperloglog", dataset="d", uid="names", key="nmae")
    sde.send_many("d", ROWS)
    answer = names.estimate()
    warning = "field 'nmae' was in none of 3 tuples"
    assert (answer.value, answer.lower, answer.warnings) == (None, None, (warning,))
    printed = CliRunner().invoke(
        main, ["estimate", "names", "--timeout", "0"], obj=LocalTransport(transport.engine)
    )
    assert f"warning: {warning}" in printed.stderr


def test_lists_are_lists_in_questions_watches_and_on_the_command_line(sde, transport) -> None:
    values = sde.create("quantiles", dataset="d", uid="u", value="v")
    sde.send_many("d", ROWS)
    assert values.estimate("cdf", points=[2, 5]).value == [1 / 3, 1.0]
    assert values.estimate("cdf", points="2, 5").value == [1 / 3, 1.0]
    with values.watch("cdf", points=(2, 5), every="1s") as answers:
        transport.tick(START + 1000)
        assert next(answers).value == [1 / 3, 1.0]
    for points in ("[2,5]", "2,5"):
        words = ["estimate", "u", "--ask", "cdf", f"points={points}"]
        assert "0.333333" in command(transport, words).stdout


def test_a_condition_and_a_key_of_several_fields_in_python_and_on_the_command_line(
    sde, transport
) -> None:
    def run(*words: str) -> str:
        return (
            CliRunner()
            .invoke(main, [*words, "--timeout", "0"], obj=LocalTransport(transport.engine))
            .output
        )

    rows = [("s", {"venue": "XY"[n % 2], "trader": n % 5, "qty": n}) for n in range(100)]
    exact = sum(v["qty"] >= 50 and v["venue"] == "X" and v["trader"] == 4 for _, v in rows)
    pairs = sde.create(
        "count_min", dataset="d", uid="u", key=["venue", "trader"], where="qty >= 50"
    )
    sde.send_many("d", rows)
    assert pairs.estimate(key=["X", 4]).value == pairs.estimate(key=("X", "4")).value == exact
    described = pairs.describe()
    assert (described.key, described.where) == (["venue", "trader"], "qty >= 50")
    assert (described.tuples, described.excluded) == (50, 50)

    made = run("create", "count_min", "--dataset", "d", "--uid", "w", "--key", "venue",
               "--key", "trader", "--where", "qty>=50")  # fmt: skip
    assert made == "w\n"
    Client(transport, timeout=0.0).send_many("d", rows)
    assert f'"value":{exact}.0' in run("estimate", "w", 'key=["X", 4]', "--json")


def test_a_wrong_condition_is_refused_with_its_place(sde, transport) -> None:
    with pytest.raises(BadParameter, match="at character 5: found the end") as refused:
        sde.create("count_min", dataset="d", key="k", where="qty>")
    assert refused.value.field == "where"
    words = ["create", "count_min", "--dataset", "d", "--key", "k", "--where", "'a' * 2"]
    printed = (
        CliRunner()
        .invoke(main, [*words, "--timeout", "0"], obj=LocalTransport(transport.engine))
        .output
    )
    assert "found a text before '*', expected a number" in printed
    assert "sde kinds" not in printed


def test_one_question_about_several_synopses(sde) -> None:
    first, second = (sde.create("ams", dataset=name, key="k") for name in ("d", "e"))
    sde.send_many("d", ROWS)
    sde.send_many("e", ROWS)
    answer = first.estimate("join_size", second)
    assert answer.lower <= 5 <= answer.upper
    assert sde.estimate([first, second.uid], "join_size").value == answer.value


def test_a_synopsis_for_each_stream_and_of_one_stream(sde) -> None:
    each = sde.create("moments", dataset="d", value="v", scope="stream")
    one = sde.create("moments", dataset="d", value="v", scope={"stream": "t"})
    sde.send_many("d", ROWS)
    assert each.estimate("mean", stream="s").value == 2.5
    assert one.estimate("mean").value == each.estimate("mean", stream="t").value == 5.0
    described = each.describe()
    assert (described.scope, described.streams, described.tuples) == ("stream", 2, 3)
    assert one.describe().scope == {"stream": "t"}


def test_a_synopsis_lives_until_it_is_deleted(sde) -> None:
    counts = sde.create("count_min", dataset="d", uid="u", key="k", idle=None, ttl="1d")
    again = sde.create("count_min", dataset="d", uid="other", key="k", reuse=True)
    assert {each.uid for each in sde.list("d")} >= {"u"}
    assert sde.list("e") == ()
    with pytest.raises(SynopsisExists):
        sde.create("fm", dataset="d", uid="u", key="k")
    again.delete()
    counts.delete()
    assert sde.list() == ()
    with pytest.raises(UnknownSynopsis):
        counts.estimate(key="a")


def test_the_field_that_tells_the_time_is_part_of_the_definition(sde) -> None:
    waves = sde.create(
        "dft", dataset="d", value="v", scope="stream", time="at", window=64, basic_window=16
    )
    assert (waves.describe().time, waves.describe().params["window"]) == ("at", 64)
    with pytest.raises(BadRequest, match="does not read times"):
        sde.create("count_min", dataset="d", key="k", time="at")


def test_the_window_of_an_answer_can_be_asked_for_again(sde) -> None:
    window = {"size": "1s", "keep": "1m"}
    sums = sde.create("moments", dataset="d", value="v", window=window)
    sde.send_many("d", ROWS)
    closed = sums.estimate("sum", end=START + 1000)
    assert (closed.value, closed.window) == (2.0, (START, START + 1000))
    assert sums.estimate("sum", span=closed.window).value == 2.0
    assert sums.estimate("sum", span=(START, START + 3000)).value == 10.0
    assert sums.describe().window["size"] == "1s"


def test_a_state_goes_out_and_in(sde) -> None:
    keys = sde.create("hyperloglog", dataset="d", key="k")
    counts = sde.create("count_min", dataset="d", key="k")
    sde.send_many("d", ROWS)
    assert HyperLogLog.from_bytes(keys.export()).cardinality().value == keys.estimate().value
    state = counts.export()
    assert CountMin.from_bytes(state).frequency("a").value == 2.0
    counts.import_state(state, tuples=3)
    assert (counts.estimate(key="a").value, counts.describe().tuples) == (4.0, 6)
    counts.import_state(state, replace=True, tuples=3)
    assert (counts.estimate(key="a").value, counts.describe().tuples) == (2.0, 3)


def test_a_version_comes_back_in_its_place_or_as_another(sde) -> None:
    counts = sde.create("count_min", dataset="d", uid="u", key="k")
    sde.send_many("d", ROWS)
    assert counts.snapshot("v1") == "v1"
    made_up = counts.snapshot()
    sde.send_many("d", ROWS)
    assert counts.estimate(key="a").value == 4.0
    copy = counts.restore("v1", as_uid="old")
    assert (copy.uid, copy.estimate(key="a").value) == ("old", 2.0)
    assert repr(copy) == "<synopsis old, count_min of d>"
    assert counts.restore().uid == "u"
    assert counts.estimate(key="a").value == 2.0
    found = counts.snapshots()
    assert {each.version for each in found} == {"v1", made_up}
    assert {(each.uid, each.kind, each.dataset) for each in found} == {("u", "count_min", "d")}
    assert all(each.bytes > 0 and each.at == START for each in found)
    assert sde.snapshots() == found
    with pytest.raises(UnknownVersion):
        counts.restore("v9")


def test_a_watch_by_the_clock_answers_when_time_passes(sde, transport) -> None:
    counts = sde.create("count_min", dataset="d", key="k")
    with counts.watch(key="a", every="1s", timeout=30) as answers:
        sde.send_many("d", ROWS)
        for second in (1, 2):
            transport.tick(START + 1000 * second)
            assert next(answers).value == 2.0
    assert "unwatch" in answers.ended


@at_once
def test_a_watch_answers_when_the_value_moved_far_enough(sde) -> None:
    counts = sde.create("count_min", dataset="d", key="k")
    with counts.watch("total", on="change", threshold=3) as answers:
        while answers.poll() is not None:  # its first answer is not about a change
            pass
        sde.send_many("d", ROWS)
        assert answers.poll().value == 3.0
        sde.send_many("d", ROWS[:1])
        assert answers.poll() is None
        sde.send_many("d", ROWS)
        assert answers.poll().value == 7.0


@at_once
def test_a_watch_for_each_key_says_which(sde) -> None:
    counts = sde.create("count_min", dataset="d", key="k")
    with counts.watch(on="change", each="key") as answers:
        sde.send_many("d", ROWS)
        found = {}
        while (answer := answers.poll()) is not None:
            found[answer.key] = answer.value
    assert found == {"a": 2.0, "b": 1.0}


def test_the_threshold_of_a_question_is_not_that_of_its_watch(sde) -> None:
    waves = sde.create("dft", dataset="d", value="v", scope="stream", window=64, basic_window=16)
    query = {"threshold": 0.5}
    with waves.watch("pairs", on="change", query=query, threshold=1):
        pass
    with pytest.raises(BadQuery, match="threshold"):
        waves.watch("pairs", on="change", query={"threshold": "high"}, threshold=1)
    with pytest.raises(BadRequest, match="threshold"):
        waves.watch("pairs", on="change", query=query, threshold="high")


def test_an_argument_of_a_question_may_have_the_name_of_an_option(sde, transport) -> None:
    sde.create("lsh", dataset="d", uid="u", value="v", scope="stream", window=64, basic_window=16)
    asked = sde.submit_estimate("u", "similar", query={"stream": "s"}).request
    assert asked["query"] == {"type": "similar", "stream": "s"}
    assert "stream" not in asked
    line = ["estimate", "u", "--ask", "similar", "stream=s"]
    refused = command(transport, line)
    assert "query.stream='s'" in refused.stderr
    usage = CliRunner().invoke(
        main, ["estimate", "u", "--ask", "pairs", "stream=s"], obj=LocalTransport(transport.engine)
    )
    assert "expected --stream s" in usage.stderr


def test_values_of_numpy_are_sent_as_numbers(sde) -> None:
    np = pytest.importorskip("numpy")
    counts = sde.create("count_min", dataset="d", key="k", epsilon=np.float64(0.5))
    sde.send_many("d", [("s", {"k": 7})])
    assert counts.estimate(key=np.int64(7)).value == 1.0
    assert counts.describe().params["epsilon"] == 0.5


def test_a_plug_in_is_examined_listed_and_used(sde, tmp_path) -> None:
    file = tmp_path / "above.py"
    file.write_text(new_files("above")["above.py"])
    added = sde.add_plugin(file)
    assert (added.kind, added.version, added.state) == ("above@1", 1, "active")
    counted = sde.create("above", dataset="d", value="v", limit=2.5)
    sde.send_many("d", ROWS)
    assert counted.estimate().value == 2
    (listed,) = sde.plugins()
    assert (listed.name, listed.synopses, listed.raw["sha256"]) == ("above", 1, added.raw["sha256"])
    counted.delete()
    sde.remove_plugin("above")
    assert sde.plugins() == ()


@pytest.mark.parametrize(
    ("ask", "error", "field"),
    [
        (lambda sde: sde.create("fm", dataset="d", key="k", bitmaps=-1), BadParameter, "bitmaps"),
        (lambda sde: sde.create("fm", dataset="d", key="k", scope="all"), BadRequest, "scope"),
        (lambda sde: sde.create("fm", dataset="d", key="k", window={}), BadRequest, "window.size"),
        (lambda sde: sde.create("fm", dataset="d", key="k", ttl="soon"), BadRequest, "ttl"),
        (lambda sde: sde.estimate([], key="k"), BadRequest, "uids"),
        (lambda sde: sde.watch("u", each="key", every="1s"), BadRequest, "each"),
        (lambda sde: sde.submit("list", datset="d").result(), BadRequest, "datset"),
    ],
)
def test_a_wrong_field_is_refused_by_the_engine_with_its_name(sde, ask, error, field) -> None:
    with pytest.raises(error) as caught:
        ask(sde)
    assert caught.value.field.endswith(field)


def test_the_command_line_works_with_it_too(transport, tmp_path) -> None:
    def run(line: str) -> str:
        result = CliRunner().invoke(
            main, [*line.split(), "--timeout", "0"], obj=LocalTransport(transport.engine)
        )
        assert result.exit_code == 0, result.output
        return result.stdout

    path = tmp_path / "ticks.csv"
    path.write_text("stream,k\ns,a\ns,b\nt,a\n")
    assert run("create count_min --dataset d --uid u --key k").strip() == "u"
    assert run(f"send {path} --dataset d").startswith("3 tuples sent")
    assert '"value":2.0' in run("estimate u key=a --json")
    assert "count_min" in run("list")
    state = base64.b64decode(run("export u --json").partition('"state":"')[2].rpartition('"')[0])
    assert CountMin.from_bytes(state).frequency("a").value == 2.0
