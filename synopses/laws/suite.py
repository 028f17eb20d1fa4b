"""All laws together."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from synopses.base import Synopsis
from synopses.laws import adding, answering, damage, declaring, merging
from synopses.laws.law import Law, filled


def laws() -> Iterator[Law]:
    """Every law, the telling ones first."""
    yield declaring.declares_itself
    yield declaring.every_argument_has_a_limit
    yield declaring.reads_no_more_than_it_declares
    yield declaring.memory_is_as_declared
    yield declaring.empty_is_all_zero_bytes
    yield answering.bytes_come_back
    yield answering.every_question_is_answered
    yield answering.estimating_changes_nothing
    yield adding.batches_do_not_matter
    yield adding.order_does_not_matter
    yield adding.adding_twice_is_adding_once
    yield adding.sums_are_as_good_as_their_items
    yield adding.values_that_are_not_finite_are_left_out
    yield merging.merging_parts_gives_the_whole
    yield merging.the_way_of_merging_does_not_matter
    yield merging.merging_with_empty_changes_nothing
    yield merging.merging_refuses_strangers
    yield merging.linear_states_subtract
    yield merging.a_bank_is_many_singles
    yield damage.damaged_bytes_are_refused
    yield damage.forged_payloads_do_no_harm
    yield damage.forged_parameters_are_refused


def check(cls: type[Synopsis]) -> None:
    """Run every law; LawError names the first that is broken."""
    for law in laws():
        law(cls)


def fingerprint(cls: type[Synopsis], n: int = 300) -> str:
    """A digest of the bytes after `n` example items: the same in every process of any machine."""
    return hashlib.sha256(filled(cls, seed=1, n=n).to_bytes()).hexdigest()
