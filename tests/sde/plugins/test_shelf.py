"""The facts of a shelf as checkpoints hold them; they may never change their form."""

import pytest

from sde.plugins.shelf import Shelf
from sde.plugins.version import Made
from sde.wire import Refusal

# As version 0.1.0 wrote them.
TOTAL = {
    "name": "total",
    "version": 2,
    "source": "x = 1",
    "sha256": "ab",
    "key": "",
    "added": 1_700_000_000_000,
    "declaration": {
        "format": 1,
        "mergeable": True,
        "linear": True,
        "order_free": True,
        "idempotent": False,
        "guarantee": "exact",
        "doc": "The sum of the values.\n\nTimes a factor.",
        "banked": True,
        "reads": ["values"],
        "value_fields": 1,
        "across_arrays": [],
        "parameters": [
            {
                "name": "factor",
                "type": "float",
                "default": 1.0,
                "doc": "what the sum is multiplied with",
                "above": 0,
                "below": None,
                "least": None,
                "most": None,
                "choices": [],
                "unit": "",
            }
        ],
        "questions": [
            {"name": "total", "doc": "The sum.", "others": "", "across": False, "arguments": []},
            {
                "name": "share",
                "doc": "A share.",
                "others": "one",
                "across": False,
                "arguments": [
                    {
                        "name": "of",
                        "type": "float",
                        "doc": "",
                        "above": None,
                        "below": None,
                        "least": None,
                        "most": None,
                        "choices": [],
                        "unit": "",
                    }
                ],
            },
        ],
    },
    "seconds": 30,
    "memory": 1 << 28,
}
MADE = {"params": {"factor": 2.0}, "memory": 8, "layout": {"sum": ["<f8", []]}}
FACTS = [
    ["waits", "p-9", {"place": "requests:0:9", "message": {"op": "plugin"}, "time": 5}],
    ["number", "total", 2],
    ["number", "gone", 4],
    ["plugin", TOTAL],
    ["made", "total@2", MADE],
    ["quarantined", "total@2", "it loops"],
]


def shelf_of(facts):
    shelf = Shelf()
    for fact in facts:
        shelf.apply(*fact)
    return shelf


def test_facts_give_the_shelf_that_wrote_them():
    shelf = shelf_of(FACTS)
    assert list(shelf.facts()) == FACTS
    assert (shelf.next_number("total"), shelf.next_number("gone")) == (3, 5)
    assert shelf.waiting["p-9"]["time"] == 5
    assert shelf.made == {"total@2": [Made(**MADE)]}
    assert shelf.told(shelf.versions["total@2"])["reason"] == "it loops"
    assert shelf.told(shelf.versions["total@2"])["doc"] == "The sum of the values."


def test_the_class_of_a_version_declares_what_the_fact_says_without_its_process():
    total = shelf_of(FACTS)["total@2"]
    assert (total.linear, total.idempotent, total.guarantee) == (True, False, "exact")
    assert total(factor=2).memory == 8
    assert total(factor=2).layout() == {"sum": ("<f8", ())}
    (factor,) = total.parameters.values()
    assert (factor.default, factor.expected) == (1.0, "a number above 0")
    assert [q.others for q in total.questions.values()] == ["", "one"]


def test_what_is_settled_or_unplugged_is_gone_and_its_number_is_not():
    shelf = shelf_of([*FACTS, ["settled", "p-9"], ["unplugged", "total@2"]])
    revoked = ["revoked", "total@2", TOTAL["sha256"]]
    assert list(shelf.facts()) == [["number", "total", 2], ["number", "gone", 4], revoked]


def test_what_was_revoked_is_known_after_the_facts_were_written_anew():
    shelf = shelf_of([*FACTS, ["unplugged", "total@2"]])
    again = shelf_of(shelf.facts())
    with pytest.raises(Refusal, match="was unplugged as total@2"):
        again.require_not_revoked("total", TOTAL["sha256"])
    again.require_not_revoked("other", TOTAL["sha256"])
    again.require_not_revoked("total", "0" * 64)


@pytest.mark.parametrize("fact", [["borrowed", "total@2"], ["number", "total"], ["waits", 1, {}]])
def test_a_fact_that_is_none_is_an_error(fact):
    with pytest.raises(ValueError, match=r"Invalid|Expected"):
        Shelf().apply(*fact)
