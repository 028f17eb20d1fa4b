"""The errors that pages and help texts state for parameters are those that answers have."""

import numpy as np
import pytest

from docs.generate import choose_page, kinds_table
from docs.generate.sizes import SIZED, default_size, sizes
from synopses import KINDS, Items

KEYS = 300_000


@pytest.mark.parametrize("kind", SIZED)
def test_a_choice_has_at_most_the_error_it_is_listed_with(kind):
    for size in sizes(kind):
        made = KINDS[kind](**{SIZED[kind].parameter: size.value})
        assert SIZED[kind].error(made) <= size.error * (1 + 1e-9)
        assert made.memory == size.memory


@pytest.mark.parametrize("kind", SIZED)
def test_a_smaller_error_takes_at_least_as_much_memory(kind):
    found = [size.memory for size in sizes(kind)]
    assert found == sorted(found)
    assert default_size(kind).memory == KINDS[kind]().memory


@pytest.mark.parametrize("kind", ["hyperloglog", "theta", "fm"])
@pytest.mark.parametrize("error", [0.2, 0.05, 0.02])
def test_the_bounds_of_distinct_counts_are_as_near_as_stated(kind, error):
    (size,) = [size for size in sizes(kind) if size.error == error]
    made = KINDS[kind](**{SIZED[kind].parameter: size.value})
    made.add(Items.of(np.arange(KEYS)))
    answer = made.estimate({"type": "cardinality"})
    assert answer.lower <= KEYS <= answer.upper
    assert answer.upper - answer.value <= error * answer.value + 1  # bounds are whole numbers
    assert answer.value - answer.lower <= error * answer.value + 1


def test_every_question_of_the_readme_has_an_advice():
    assert list(choose_page._ADVICE) == [row.question for row in kinds_table.ROWS]
