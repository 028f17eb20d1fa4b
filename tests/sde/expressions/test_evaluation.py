"""Whole columns against plain Python, row by row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sde.expressions import evaluate, holds, parse
from sde.expressions.text_values import LONGEST_JOINED
from sde.tuples.column import Column
from synopses.hashing import key_text
from tests.sde.expressions import naive_expressions as naive
from tests.sde.expressions.made_expressions import COLUMNS, ROWS, column, expressions


def texts_of(result):
    valid = np.ones(len(result), bool) if result.valid is None else result.valid
    return [text if ok else None for text, ok in zip(result.texts(), valid, strict=True)]


def run(text, **columns):
    made = {name: column(values) for name, values in columns.items()}
    rows = len(next(iter(columns.values()), [0]))
    return texts_of(evaluate(parse(text), made, rows))


def rows_of(made):
    return [{name: values[i] for name, (values, _) in made.items()} for i in range(ROWS)]


@given(expressions(), COLUMNS)
def test_every_expression_gives_what_plain_python_gives_row_by_row(expression, made):
    columns = {name: column(values, coded) for name, (values, coded) in made.items()}
    found = texts_of(evaluate(expression, columns, ROWS))
    assert found == [naive.text(naive.value(expression, row)) for row in rows_of(made)]


@given(expressions(), COLUMNS)
def test_it_holds_where_plain_python_says_true(expression, made):
    columns = {name: column(values, coded) for name, (values, coded) in made.items()}
    found = holds(expression, columns, ROWS).tolist()
    assert found == [naive.truth(expression, row) is True for row in rows_of(made)]


@given(expressions(), COLUMNS)
def test_a_row_gives_the_same_alone_as_among_others(expression, made):
    """So that an answer does not depend on how tuples were put into blocks."""
    together = {name: column(values, coded) for name, (values, coded) in made.items()}
    found = texts_of(evaluate(expression, together, ROWS))
    for i, row in enumerate(rows_of(made)):
        alone = {name: column([value]) for name, value in row.items()}
        assert texts_of(evaluate(expression, alone, 1)) == [found[i]]


def test_a_condition_over_many_rows_is_the_same_as_over_few():
    rows = 150_000
    rng = np.random.default_rng(1)
    qty, px = rng.integers(0, 50, rows), rng.random(rows)
    names = [f"v{i}" for i in range(40)]
    venue = column([names[i] for i in qty % 40])
    columns = {"qty": Column(qty), "px": Column(px), "venue": venue}
    found = holds(parse("venue in ('v1', 'v7') and px * qty > 3"), columns, rows)
    expected = np.isin(qty % 40, [1, 7]) & (px * qty > 3)
    assert np.array_equal(found, expected)
    assert expected.any()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("9007199254740993 + 1", "9007199254740994"),
        ("9223372036854775807 + 1", "9.223372036854776e+18"),
        ("0.1 + 0.2", "0.30000000000000004"),
        ("6 / 3", "2"),
        ("7 / 2", "3.5"),
        ("-7 % 3", "-1"),
        ("7.5 % 2", "1.5"),
        ("1 / 0", None),
        ("1 % 0", None),
        ("log(0)", None),
        ("log(-1)", None),
        ("sqrt(-1)", None),
        ("1e300 * 1e300", None),
        ("round(2.5)", "3"),
        ("round(-2.5)", "-3"),
        ("round(0.49999999999999994)", "0"),
        ("floor(-0.5)", "-1"),
        ("-abs(-3)", "-3"),
        ("null + 1", None),
        ("null or true", "true"),
        ("null and false", "false"),
        ("not (null == 1)", None),
        ("1 in (2, null)", None),
        ("1 not in (2, 3)", "true"),
        ("1 in (2, null, '1')", "true"),
        ("null is null", "true"),
        ("'12' == 12.0", "true"),
        ("length('€uro')", "4"),
        ("substring('EURUSD', 3)", "USD"),
        ("substring('€uro', 0, 1)", "€"),
        ("concat('a', 1.0, 2 > 1)", "a1true"),
        ("concat('a', null)", None),
        ("coalesce(null, 'x')", "x"),
        ("if(null == 1, 'a', 'b')", "b"),
        ("upper('é') == 'É'", "true"),
        ("'a' < 'b' and 'Z' < 'a'", "true"),
    ],
)
def test_constants_have_the_value_that_the_pages_promise(text, expected):
    assert run(text) == [expected]


def test_texts_that_look_like_numbers_count_as_numbers_where_numbers_are_needed():
    assert run("px * 2", px=["1.5", " 2 ", "x", None]) == ["3", "4", None, None]
    assert run("px > 9", px=["10", "9", "x", 9.5]) == ["true", "false", None, "true"]
    assert run("px > '9'", px=["10", "9", "x", "95"]) == ["false", "false", "true", "true"]


def test_two_fields_are_ordered_as_numbers_or_as_texts_but_never_one_as_each():
    found = run("a < b", a=["9", "b", "9", 1], b=["10", "c", "x", None])
    assert found == ["true", "true", None, None]


def test_equality_compares_the_texts_that_keys_are_made_of():
    assert run("a == b", a=[12.0, "12", 0.5], b=["12", 12, "0.50"]) == ["true", "true", "false"]


def test_whole_numbers_beyond_2_to_the_53_are_exact_also_among_texts_and_decimals():
    large = 2**53 + 1
    assert run("a + 1", a=[large, "x"]) == [key_text(large + 1), None]
    assert run("if(b, a, 0.5)", a=[large, 1], b=["true", "false"]) == [key_text(large), "0.5"]


def test_a_text_that_concat_makes_too_long_is_missing():
    long = "x" * (LONGEST_JOINED // 2)
    assert run("length(concat(a, a))", a=[long, long + "x", "é"]) == [
        str(LONGEST_JOINED), None, "2",
    ]  # fmt: skip


def test_numbers_that_are_not_finite_are_missing():
    columns = {"a": Column(np.array([1.0, np.nan, np.inf]))}
    assert texts_of(evaluate(parse("a is null"), columns, 3)) == ["false", "true", "true"]
    assert texts_of(evaluate(parse("a"), columns, 3)) == ["1", None, None]


def test_a_field_that_no_row_has_is_missing():
    assert texts_of(evaluate(parse("nothing is null"), {}, 2)) == ["true", "true"]
    assert holds(parse("nothing > 1"), {}, 2).tolist() == [False, False]


@settings(deadline=None, derandomize=True, max_examples=50)
@given(expressions())
def test_no_rows_give_no_values(expression):
    columns = {"a": column([]), "t": Column.missing(0)}
    assert len(evaluate(expression, columns, 0)) == 0
    assert len(holds(expression, columns, 0)) == 0


@given(st.lists(st.text(max_size=20), min_size=1))
def test_any_characters_pass_through_the_functions_of_texts(texts):
    made = {"t": column([*texts, "\udfff".encode("utf-8", "replace").decode()])}
    for text in ("lower(t)", "upper(t)", "substring(t, 1, 3)", "concat(t, t)", "length(t)"):
        assert len(evaluate(parse(text), made, len(texts) + 1)) == len(texts) + 1
    assert run("substring(t, 1, 3)", t=texts) == [naive.text(text)[1:4] for text in texts]
