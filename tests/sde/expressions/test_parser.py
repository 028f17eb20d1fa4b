"""Texts become trees, trees become texts, and whatever is neither is refused with a reason."""

import copy
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sde.expressions import ExpressionError, Type, parse, paths, type_of
from sde.expressions.functions import SIGNATURES, Function
from sde.expressions.parser import DEEPEST, LONGEST, MOST_NODES
from sde.expressions.tree import nodes
from tests.sde.expressions.made_expressions import expressions


@given(expressions())
def test_the_canonical_text_parses_to_the_same_tree(expression):
    assert parse(str(expression)) == expression


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("px*qty", "px * qty"),
        ("venue=='X'and qty>0", "venue == 'X' and qty > 0"),
        ('lower(name) in("a","b")', "lower(name) in ('a', 'b')"),
        ("trader.id is not null", "trader.id is not null"),
        ("not trader.id is null", "trader.id is not null"),
        ("not a in (1)", "a not in (1)"),
        ("coalesce(a,b,0)", "coalesce(a, b, 0)"),
        ("not (a<=3 or b is null)", "not (a <= 3 or b is null)"),
        ("not a == b or c", "not a == b or c"),
        ("a or b and c", "a or b and c"),
        ("(a or b) and c", "(a or b) and c"),
        ("((a))", "a"),
        ("a - (b - c) - d", "a - (b - c) - d"),
        ("a / (b * c)", "a / (b * c)"),
        ("-x * -(y + 1)", "-x * -(y + 1)"),
        ("- - x", "--x"),
        ("1.0 + 1e3 + .5 + 2.", "1 + 1000 + 0.5 + 2"),
        ('\'it\'\'s\' == "say ""x"""', "'it''s' == 'say \"x\"'"),
        ("'a\\n'", "'a\\n'"),
        ("`a b` + `a` + `in` + `x``y`", "`a b` + a + `in` + `x``y`"),
        ("a[0].b.$c == $headers.trace", "a[0].b.$c == $headers.trace"),
        ("if(a, lower, upper)", "if(a, lower, upper)"),
        ("größe > 1", "größe > 1"),
    ],
)
def test_a_text_has_a_canonical_form(text, canonical):
    assert str(parse(text)) == canonical
    assert str(parse(canonical)) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "at character 1: found the end, expected a value"),
        ("px * ", "at character 6: found the end, expected a value"),
        ("a + )", "at character 5: found ')', expected a value"),
        ("(a", "at character 3: found the end, expected ')'"),
        ("a b", "at character 3: found 'b', expected an operator or the end"),
        ("a AND b", "at character 3: found 'AND', expected an operator or the end. Did you mean"),
        ("a = 1", "at character 3: found '='. Did you mean ==?"),
        ("a <> 1", "at character 4: found '>', expected a value"),
        ("a && b", "at character 3: found '&&'. Did you mean and?"),
        ("!a", "at character 1: found '!'. Did you mean not?"),
        ("a == 'x", "at character 6: found ', which is never closed"),
        ("a < b < c", "comparisons do not chain, join them with and"),
        ("a == not b", "at character 6: found 'not', expected a value"),
        ("lowr(a)", "at character 1: found 'lowr', expected a function. Did you mean lower?"),
        ("a.b(c)", "at character 1: found 'a.b', expected a function"),
        ("abs()", "at character 1: abs has 0 arguments, expected 1"),
        ("if(a, b)", "at character 1: if has 2 arguments, expected 3"),
        ("substring(a, b)", "at character 14: found b, expected a whole number"),
        ("substring(a, 0.5)", "at character 14: found 0.5, expected a whole number"),
        ("concat(a,)", "at character 10: found ')', expected a value"),
        ("concat(a b)", "at character 10: found 'b', expected ',' or ')'"),
        ("'a' * 2", "at character 1: found a text before '*', expected a number"),
        ("2 * 'a'", "at character 5: found a text after '*', expected a number"),
        ("-'a'", "at character 1: found a text after '-', expected a number"),
        ("lower(5)", "at character 7: found a number in lower, expected a text"),
        ("not 5", "at character 5: found a number after 'not', expected true or false"),
        ("a and 'x'", "at character 7: found a text after 'and', expected true or false"),
        ("1 or a", "at character 1: found a number before 'or', expected true or false"),
        ("1 == true", "at character 3: '==' compares a number and true or false, expected one"),
        ("(a > 1) < 2", "at character 9: '<' compares a number and true or false, expected two"),
        ("a + 1 < 'x'", "at character 7: '<' compares a number and a text, expected two numbers"),
        ("if(a, 1, 'x')", "at character 1: if of a number, a text: expected one type"),
        ("coalesce(1, true)", "at character 1: coalesce of a number, true or false: expected one"),
        ("a in ()", "at character 7: found ')', expected a value"),
        ("a is 5", "at character 6: found '5', expected 'null'"),
        ("a not b", "at character 7: found 'b', expected 'in'"),
        ("1e999", "at character 1: found '1e999', expected a number within float64"),
        ("a ~ b", "at character 3: found '~', expected a value or an operator"),
        ("a[x]", "at character 2: found '[', expected a value or an operator"),
        ("'\ud800'", "at character 2: found half of a surrogate pair"),
    ],
)
def test_a_wrong_text_is_refused_with_the_place_what_is_there_and_what_was_expected(text, message):
    with pytest.raises(ExpressionError) as refused:
        parse(text)
    assert message in str(refused.value)


@pytest.mark.parametrize("text", ["px * qty", "'x'", "if(a, 1, 2)", "length(t)"])
def test_a_condition_that_cannot_be_true_or_false_is_refused(text):
    with pytest.raises(ExpressionError, match="expected true or false"):
        parse(text, result=Type.BOOLEAN)


def test_a_field_may_be_a_condition():
    assert type_of(parse("active", result=Type.BOOLEAN)) is Type.UNKNOWN


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a" * (LONGEST + 1), "4,001 characters"),
        ("(" * (LONGEST // 2) + "a" + ")" * (LONGEST // 2 - 1), "nested deeper"),
        ("-" * (LONGEST - 1) + "a", "nested deeper"),
        ("not " * (LONGEST // 4 - 1) + "a", "nested deeper"),
        ("a" + "+a" * (LONGEST // 2 - 1), "nested deeper"),
        ("abs(" * (LONGEST // 5) + "a", "nested deeper"),
        ("a in (" + "1," * (LONGEST // 2 - 10) + "1)", "more than 256 parts"),
        ("a" + " or a" * (LONGEST // 5 - 1), "more than 256 parts"),
    ],
)
def test_length_depth_and_parts_are_limited(text, message):
    with pytest.raises(ExpressionError, match=message):
        parse(text)


def test_what_is_within_the_limits_is_taken():
    parse("(" * (DEEPEST - 1) + "a" + ")" * (DEEPEST - 1))
    items = ", ".join(map(str, range(MOST_NODES - 2)))
    assert len(list(nodes(parse(f"a in ({items})")))) == MOST_NODES


@given(st.binary(max_size=60))
def test_random_bytes_raise_nothing_but_the_one_error(data):
    for text in (data.decode("latin-1"), data.decode("utf-8", "surrogateescape")):
        read(text)


WORDS = "and or not in is null true false + - * / % == != < <= > >= = ( ) , [0] ' ` . 1e"
PIECES = st.sampled_from(
    ["a", "b.c", "$k", "`x y`", "1", "2.5", "'t'", '"u"', "é", *Function, *WORDS.split()]
)


@given(st.lists(PIECES, max_size=30), st.sampled_from(["", " "]))
def test_words_of_the_language_in_any_order_raise_nothing_but_the_one_error(pieces, between):
    read(between.join(pieces))


@given(expressions(), st.data())
def test_a_damaged_expression_raises_nothing_but_the_one_error(expression, data):
    text = str(expression)
    at = data.draw(st.integers(0, len(text)))
    read(text[:at] + data.draw(PIECES) + text[at + data.draw(st.integers(0, 2)) :])


def read(text):
    try:
        expression = parse(text)
    except ExpressionError:
        return
    assert parse(str(expression)) == expression


def test_the_paths_are_all_names_once():
    expression = parse("a.b + a.b > `x y` and lower($key) in (c, 'd') or if(e, f[1], null) is null")
    assert paths(expression) == {"a.b", "x y", "$key", "c", "e", "f[1]"}


def test_trees_that_differ_in_type_alone_are_not_equal():
    assert parse("a == 1") != parse("a == '1'")
    assert parse("a in (b, true)") != parse("a in (b, 'true')")
    assert len({parse("true"), parse("'true'"), parse("`true`")}) == 3


def test_the_error_survives_copying():
    error = ExpressionError(3, "wrong")
    assert str(copy.copy(error)) == str(pickle.loads(pickle.dumps(error))) == str(error)


def test_every_function_is_declared():
    assert set(SIGNATURES) == set(Function)
