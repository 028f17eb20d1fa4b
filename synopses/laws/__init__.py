"""Laws every synopsis obeys: run by our tests, by the plug-in loader, and by authors of kinds.

A law is a function of a class. What it demands follows from the traits the class declares: a
kind that is not mergeable owes nothing to the law of merging (`not_applicable` says so), an
order-free kind owes bytes that do not depend on the order.

>>> from synopses import CountMin
>>> check(CountMin)
"""

from synopses.laws.adding import (
    adding_twice_is_adding_once,
    batches_do_not_matter,
    order_does_not_matter,
    sums_are_as_good_as_their_items,
    values_that_are_not_finite_are_left_out,
)
from synopses.laws.answering import (
    bytes_come_back,
    estimating_changes_nothing,
    every_question_is_answered,
)
from synopses.laws.damage import (
    damaged_bytes_are_refused,
    forged_parameters_are_refused,
    forged_payloads_do_no_harm,
)
from synopses.laws.declaring import (
    declares_itself,
    empty_is_all_zero_bytes,
    every_argument_has_a_limit,
    memory_is_as_declared,
)
from synopses.laws.law import LawError
from synopses.laws.merging import (
    a_bank_is_many_singles,
    linear_states_subtract,
    merging_parts_gives_the_whole,
    merging_refuses_strangers,
    merging_with_empty_changes_nothing,
    the_way_of_merging_does_not_matter,
)
from synopses.laws.suite import check, fingerprint, laws

__all__ = [
    "LawError",
    "a_bank_is_many_singles",
    "adding_twice_is_adding_once",
    "batches_do_not_matter",
    "bytes_come_back",
    "check",
    "damaged_bytes_are_refused",
    "declares_itself",
    "empty_is_all_zero_bytes",
    "estimating_changes_nothing",
    "every_argument_has_a_limit",
    "every_question_is_answered",
    "fingerprint",
    "forged_parameters_are_refused",
    "forged_payloads_do_no_harm",
    "laws",
    "linear_states_subtract",
    "memory_is_as_declared",
    "merging_parts_gives_the_whole",
    "merging_refuses_strangers",
    "merging_with_empty_changes_nothing",
    "order_does_not_matter",
    "sums_are_as_good_as_their_items",
    "the_way_of_merging_does_not_matter",
    "values_that_are_not_finite_are_left_out",
]
