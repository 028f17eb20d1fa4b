"""Which batches are over, by files as Spark writes them."""

import pytest

from sde.storage.arena_view import Unreadable
from service.lane.commits import Commits


@pytest.fixture
def checkpoint(tmp_path):
    for name in ("offsets", "commits"):
        (tmp_path / name).mkdir()
    return tmp_path


def plan(checkpoint, batch, **reached):
    lines = ["v1", f'{{"batchTimestampMs":{1000 + batch}}}', '{"sde-requests":{"0":7}}']
    lines.append(f'{{"sde-data":{{{",".join(f"{k[1:]!r}:{v}" for k, v in reached.items())}}}}}')
    (checkpoint / "offsets" / str(batch)).write_text("\n".join(lines).replace("'", '"'))


def end(checkpoint, batch):
    (checkpoint / "commits" / str(batch)).write_text("v1\n{}")


def test_batches_are_over_when_spark_says_so(checkpoint, tmp_path):
    commits = Commits(checkpoint)
    assert commits.last() == -1
    for batch in (3, 4, 5):  # older ones are deleted
        end(checkpoint, batch)
    (checkpoint / "commits" / ".6.crc").write_text("")
    assert commits.last() == 5
    end(checkpoint, 6)
    assert commits.last() == 6
    assert Commits(tmp_path / "nowhere").last() == -1


def test_what_was_sent_is_in_the_batch_that_was_planned_with_it(checkpoint):
    plan(checkpoint, 4, p0=10, p1=5)
    end(checkpoint, 4)
    commits = Commits(checkpoint)
    assert commits.first_with({"sde-data": {"0": 10, "1": 5}}) == 4
    assert commits.first_with({"sde-data": {"0": 11}}) is None
    plan(checkpoint, 5, p0=11, p1=5)
    assert commits.first_with({"sde-data": {"0": 11}}) == 5  # to be waited for
    assert commits.last() == 4
    assert commits.first_with({"sde-data": {"0": 11}, "other": {"0": 1}}) is None
    assert commits.began(5) == 1005


@pytest.mark.parametrize("text", ["", "v1", "v1\n{}", 'v1\n{"batchTimestampMs":1}\nhalf'])
def test_a_file_that_cannot_be_read_is_no_answer(checkpoint, text):
    (checkpoint / "offsets" / "0").write_text(text)
    with pytest.raises(Unreadable):
        Commits(checkpoint).began(0)
