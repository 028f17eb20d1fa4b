"""Event times: every form against `datetime`, and garbage against nothing at all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sde.decoding import plain
from sde.tuples.column import Column
from sde.tuples.times import EARLIEST, FORMATS, LATEST, NO_TIME, event_times
from synopses.errors import ParameterError
from synopses.hashing import number_texts
from synopses.texts import Texts
from tests.sde.tuples import naive_times as naive

T = 1_700_000_000_000  # 2023-11-14T22:13:20Z


def times_of(*texts, format="auto"):
    return event_times(Column(Texts.of(texts)), format).tolist()


def assert_equals_the_naive_way(texts):
    for format in FORMATS:
        expected = [naive.event_time(text, format) for text in texts]
        assert times_of(*texts, format=format) == expected, format


def column_of_bytes(values):
    offsets = np.zeros(len(values) + 1, np.int64)
    np.cumsum([len(v) for v in values], out=offsets[1:])
    return Column(Texts(np.frombuffer(bytearray(b"".join(values)), np.uint8), offsets))


# Numbers a little beyond what a clock and a calendar have, so that wrong ones are met too.
PARTS = st.tuples(
    st.sampled_from([0, 1, 4, 100, 1582, 1900, 1969, 1970, 2000, 2023, 2024, 2100, 9999]),
    st.integers(0, 13),
    st.one_of(st.integers(0, 32), st.integers(28, 31)),
    st.integers(0, 25),
    st.integers(0, 60),
    st.integers(0, 61),
)
ZONES = st.one_of(
    st.sampled_from(["", "Z", "+02:00", "-0530", "+14", "-00:00", "+24:00", "+01:60", "z", "+1"]),
    st.builds("{}{:02d}{}{:02d}".format, st.sampled_from("+-"), st.integers(0, 25),
              st.sampled_from(["", ":"]), st.integers(0, 61)),
)  # fmt: skip
FRACTIONS = st.one_of(st.just(""), st.from_regex(r"\A\.[0-9]{0,12}\Z"))
BLANKS = st.text(" \t\n\r\v\f", max_size=2)
DATES = st.builds(lambda p: "{:04d}-{:02d}-{:02d}".format(*p[:3]), PARTS)
MOMENTS = st.builds(
    lambda p, between, fraction, zone: (
        "{:04d}-{:02d}-{:02d}".format(*p[:3])
        + between + "{:02d}:{:02d}:{:02d}".format(*p[3:]) + fraction + zone
    ),
    PARTS, st.sampled_from(["T", " ", "T", " ", "t", ""]), FRACTIONS, ZONES,
)  # fmt: skip
INFORE_WIDTHS = st.sampled_from(["{1:02d}/{2:02d}/{0:04d} {3:02d}", "{1}/{2}/{0:04d} {3}"])
INFORE = st.builds(lambda p, form: (form + ":{4:02d}:{5:02d}").format(*p), PARTS, INFORE_WIDTHS)
NUMBERS = st.one_of(
    st.integers(EARLIEST - 5, LATEST + 5),
    st.integers(-(10**11) - 5, 10**11 + 5),
    st.sampled_from([10**11 - 1, 10**11, -(10**11), 0, EARLIEST, LATEST, 2**63, 10**400]),
    st.floats(),
    st.floats(-3e9, 3e9).map(lambda x: round(x, 3)),
).map(str)
FORMS = st.one_of(DATES, MOMENTS, INFORE, NUMBERS)
TEXTS = st.builds("{}{}{}".format, BLANKS, FORMS, BLANKS)


@st.composite
def damaged(draw):
    """A time with one character replaced, put in or taken out."""
    text = draw(FORMS)
    at = draw(st.integers(0, len(text)))
    put = draw(st.sampled_from(["", *"0159-/:.+TZ eé\0"]))
    return text[:at] + put + text[at + draw(st.integers(0, 1)) :]


@given(st.lists(TEXTS, max_size=20))
def test_every_form_in_one_column_is_read_as_datetime_reads_it(texts):
    assert_equals_the_naive_way(texts)


@given(st.lists(damaged(), max_size=20))
def test_damaged_times_are_read_as_datetime_reads_them_or_not_at_all(texts):
    assert_equals_the_naive_way(texts)


@given(st.lists(st.one_of(st.binary(max_size=30), FORMS.map(str.encode)), max_size=20))
def test_garbage_never_raises_and_leaves_the_rows_beside_it_alone(values):
    column = column_of_bytes(values)
    for format in FORMATS:
        alone = [event_times(column_of_bytes([value]), format)[0] for value in values]
        assert event_times(column, format).tolist() == alone


@pytest.mark.parametrize("width", range(1, 32))
def test_a_text_is_never_read_beyond_its_end(width):
    for text in ("2023-11-14T22:13:20.123456+02:00", "11/14/2023 22:13:20", "1700000000.123"):
        cut = text[:width]
        rest = column_of_bytes([cut.encode(), text[width:].encode()])
        assert event_times(rest, "auto")[0] == naive.event_time(cut, "auto")


def test_every_day_of_the_calendar_has_its_number():
    days = np.arange("0001-01-01", "10000-01-01", dtype="datetime64[D]")
    expected = days.astype("datetime64[ms]").astype(np.int64)
    iso = np.datetime_as_string(days).astype("S10").view(np.uint8).reshape(len(days), 10)
    infore = np.tile(np.frombuffer(b"MM/dd/yyyy 00:00:00", np.uint8), (len(days), 1))
    infore[:, [6, 7, 8, 9, 0, 1, 3, 4]] = iso[:, [0, 1, 2, 3, 5, 6, 8, 9]]
    for letters in (iso, infore):
        offsets = np.arange(len(days) + 1) * letters.shape[1]
        column = Column(Texts(letters.reshape(-1), offsets))
        assert np.array_equal(event_times(column, "auto"), expected)


def test_every_part_of_a_clock_and_a_zone_ends_where_it_should():
    clocks = [(h, 0, 0) for h in range(100)]
    clocks += [(0, m, 0) for m in range(100)] + [(0, 0, s) for s in range(100)]
    texts = ["{:02d}:{:02d}:{:02d}".format(*clock) for clock in clocks]
    assert_equals_the_naive_way([f"2023-11-14T{text}" for text in texts])
    assert_equals_the_naive_way([f"11/14/2023 {text}" for text in texts])
    zones = [f"+{h:02d}:00" for h in range(100)] + [f"-00{m:02d}" for m in range(100)]
    assert_equals_the_naive_way([f"2023-11-14T22:13:20{zone}" for zone in zones])
    leap_seconds = ("2016-12-31T23:59:60Z", "12/31/2016 23:59:60")
    assert times_of(*leap_seconds) == [NO_TIME] * 2


@pytest.mark.parametrize("more", ["0", "Z", "+", "+02", ":", "x", ".", " 1", "\0"])
def test_what_follows_a_time_is_no_part_of_it(more):
    moments = ["2023-11-14T22:13:20" + zone for zone in ("", "Z", "+02", "+0200", "+02:00", ".5")]
    texts = [*moments, "2023-11-14", "11/14/2023 22:13:20", "1700000000"]
    assert NO_TIME not in times_of(*texts)
    assert_equals_the_naive_way([text + more for text in texts])


def test_leap_days_are_days_only_in_leap_years():
    years = [4, 1900, 2000, 2023, 2024, 2100, 2400]
    for texts in ([f"{y:04d}-02-29" for y in years], [f"2/29/{y:04d} 0:00:00" for y in years]):
        assert [t != NO_TIME for t in times_of(*texts)] == [
            True,
            False,
            True,
            False,
            True,
            False,
            True,
        ]


def test_the_years_1_to_9999_are_times_and_not_a_millisecond_more():
    assert times_of("0001-01-01", "9999-12-31T23:59:59.999999") == [EARLIEST, LATEST]
    assert times_of("0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01") == [NO_TIME] * 2
    assert times_of("0000-12-31", "10000-01-01", "1/1/0000 0:00:00") == [NO_TIME] * 3
    edges = np.array([EARLIEST - 1, EARLIEST, LATEST, LATEST + 1])
    assert event_times(Column(edges), "ms").tolist() == [NO_TIME, EARLIEST, LATEST, NO_TIME]
    assert event_times(Column(edges / 1000), "s").tolist() == [NO_TIME, EARLIEST, LATEST, NO_TIME]


def test_the_range_is_that_of_a_tuples_own_time():
    assert (EARLIEST, LATEST) == (plain.EARLIEST, plain.LATEST)


def test_auto_takes_numbers_below_1e11_for_seconds_and_the_others_for_milliseconds():
    numbers = [1_700_000_000, T, 10**11 - 1, 10**11, -(10**11) + 1, -(10**11)]
    expected = [T, T, (10**11 - 1) * 1000, 10**11, (1 - 10**11) * 1000, -(10**11)]
    expected[4] = NO_TIME  # the year -1199
    assert event_times(Column(np.array(numbers)), "auto").tolist() == expected
    assert times_of(*map(str, numbers)) == expected


def test_a_format_that_is_given_admits_no_other():
    texts = ("2023-11-14T22:13:20", "11/14/2023 22:13:20", "1700000000", "true")
    assert times_of(*texts, format="iso") == [T, NO_TIME, NO_TIME, NO_TIME]
    assert times_of(*texts, format="infore") == [NO_TIME, T, NO_TIME, NO_TIME]
    assert times_of(*texts, format="s") == [NO_TIME, NO_TIME, T, NO_TIME]
    assert times_of(*texts, format="ms") == [NO_TIME, NO_TIME, T // 1000, NO_TIME]
    assert event_times(Column(np.array([T])), "iso").tolist() == [NO_TIME]
    assert event_times(Column(np.array([1e9])), "infore").tolist() == [NO_TIME]


def test_an_unknown_format_is_named():
    with pytest.raises(ParameterError, match="format='us': expected one of auto, s, ms"):
        event_times(Column(np.array([T])), "us")


def test_rows_without_a_value_have_no_time_whatever_stands_there():
    valid = np.array([True, False, True])
    data = (
        Texts.of(["2023-11-14", "2023-11-14", "soon"]),
        np.array([T, T, 2**62]),
        np.full(3, 1e9),
    )
    for values in data:
        times = event_times(Column(values, valid), "auto")
        assert times[0] != NO_TIME
        assert times[1] == NO_TIME
    assert event_times(Column.missing(2), "auto").tolist() == [NO_TIME] * 2
    assert times_of() == []


def test_seconds_with_three_decimals_keep_every_millisecond():
    times = np.random.default_rng(1).integers(EARLIEST, LATEST, 20_000)
    assert event_times(Column(times / 1000), "s").tolist() == times.tolist()
    texts = [f"{t // 1000}.{t % 1000:03d}" for t in times.tolist() if t >= 0]
    assert times_of(*texts, format="s") == times[times >= 0].tolist()


@given(st.lists(st.one_of(st.floats(), st.floats(-1e12, 1e12)), max_size=20))
def test_a_number_and_its_text_are_the_same_time(numbers):
    numbers = np.array(numbers, np.float64)
    for format in FORMATS:
        times = event_times(Column(numbers), format).tolist()
        assert times == event_times(Column(number_texts(numbers)), format).tolist()
        assert times == [naive.event_time(x, format) for x in numbers.tolist()]
    whole = numbers[np.abs(numbers) < 2**63].astype(np.int64)
    for format in FORMATS:
        times = event_times(Column(whole), format).tolist()
        assert times == event_times(Column(number_texts(whole)), format).tolist()
        assert times == [naive.event_time(x, format) for x in whole.tolist()]
