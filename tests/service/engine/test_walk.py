"""The walk through a batch that died, against a machine that dies of chosen messages."""

from hypothesis import given
from hypothesis import strategies as st

from sde.records.position import Position
from service.engine.walk import PARTS, Range, Walk


def run(ranges, kills):
    """Walk until the end: the messages in the order they passed, those passed over, the deaths."""
    walk = Walk(ranges)
    reached = {(one.topic, one.partition): one.start for one in reversed(ranges)}
    passed, passed_over, deaths, batches = [], [], 0, 0
    while not walk.finished:
        ends = walk.ends()
        part = [
            Position(topic, partition, offset)
            for (topic, partition), end in ends.items()
            for offset in range(reached[topic, partition], end)
        ]
        assert part
        if any(message in kills and message not in passed_over for message in part):
            deaths += 1
            alone = walk.died()
            assert (alone is not None) == (len(part) == 1)
            if alone is not None:
                assert [alone] == part
                passed_over.append(alone)
            continue
        batches += 1
        passed += part
        reached |= ends
        assert walk.reached(reached) == len(part)
    return passed, passed_over, deaths, batches


def messages(ranges):
    return [Position(r.topic, r.partition, o) for r in ranges for o in range(r.start, r.end)]


@given(st.data())
def test_every_message_is_read_once_in_order_and_just_those_that_kill_are_passed_over(data):
    sizes = data.draw(st.lists(st.integers(0, 60), min_size=1, max_size=4))
    ranges = [Range("t", number, 7 * number, 7 * number + n) for number, n in enumerate(sizes)]
    everything = messages(ranges)
    some = st.sets(st.sampled_from(everything)) if everything else st.just(set())
    kills = data.draw(some)
    passed, passed_over, _, _ = run(ranges, kills)
    assert passed == everything
    assert passed_over == sorted(kills)


def test_a_partition_may_come_twice():
    """As the request topic does: before and after the tuples."""
    ranges = [Range("requests", 0, 0, 40), Range("data", 0, 5, 90), Range("requests", 0, 40, 60)]
    kills = {Position("requests", 0, 41), Position("data", 0, 5)}
    passed, passed_over, _, _ = run(ranges, kills)
    assert passed == messages(ranges)
    assert set(passed_over) == kills


def test_one_of_a_million_is_found_by_five_deaths():
    ranges = [Range("t", 0, 0, 500_000), Range("t", 1, 0, 500_000)]
    for offset in (0, 123_456, 499_999):
        _, passed_over, deaths, batches = run(ranges, {Position("t", 1, offset)})
        assert passed_over == [Position("t", 1, offset)]
        assert deaths == 5  # the last of them is that of the message alone
        assert batches <= 5 * PARTS + 10


def test_messages_that_kill_one_after_another_cost_two_deaths_each_at_most():
    ranges = [Range("t", 0, 0, 1_000_000)]
    kills = {Position("t", 0, 1000 + n) for n in range(10)}
    _, passed_over, deaths, _ = run(ranges, kills)
    assert set(passed_over) == kills
    assert deaths <= 5 + 2 * 9


def test_a_part_that_dies_only_as_a_whole_gets_through_in_smaller_ones():
    """Memory may be enough for the parts of a batch."""
    walk = Walk([Range("t", 0, 0, 1000)])
    reached, most = 0, 10
    while not walk.finished:
        (end,) = walk.ends().values()
        if end - reached > most:
            assert walk.died() is None
        else:
            walk.reached({("t", 0): end})
            reached = end
    assert reached == 1000
