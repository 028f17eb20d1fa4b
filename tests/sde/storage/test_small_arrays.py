import numpy as np
import pytest

from sde.storage.arena import Arena
from sde.storage.arena_view import ArenaView
from sde.storage.array_spec import ArraySpec
from sde.storage.small_arrays import LARGEST, Replaced, SmallArrays

NUMBERS = ArraySpec("numbers", np.dtype(np.int64), ())


def specs(count):
    return [ArraySpec(f"a.{number}", np.dtype(np.int32), (number,)) for number in range(1, count)]


def filled(path, count=100):
    made = SmallArrays.made(path)
    for number, spec in enumerate(specs(count)):
        made.make_room(spec, 2)[:] = number
    return made


def test_many_arrays_of_many_shapes_come_back_as_they_were(tmp_path):
    filled(str(tmp_path / "group"))
    opened = SmallArrays(str(tmp_path / "group"))
    assert list(opened.specs()) == specs(100)
    for number, spec in enumerate(specs(100)):
        assert opened.array(spec).tolist() == np.full((2, *spec.row), number).tolist()


def test_arrays_that_grow_by_turns_never_touch_each_other(tmp_path):
    made = filled(str(tmp_path / "group"), 10)
    for rows in range(3, 40):
        for number, spec in enumerate(specs(10)):
            grown = made.make_room(spec, rows)
            assert (grown[: rows - 1] == number).all()
            assert not grown[rows - 1 :].any()
            grown[:] = number
    assert all((made.array(spec) == n).all() for n, spec in enumerate(specs(10)))


@pytest.mark.parametrize("is_private", [False, True])
def test_a_change_of_where_things_are_is_noticed_by_others(tmp_path, is_private):
    path = str(tmp_path / "group")
    made = filled(path, 3)
    other = SmallArrays(path, is_private=is_private)
    other.array(specs(3)[0])[0] = 7  # a private page that shows no change any more
    assert other.is_current
    made.make_room(NUMBERS, 3)
    assert not other.is_current
    assert made.is_current
    other = SmallArrays(path, is_private=is_private)
    made.remove(NUMBERS)
    assert not other.is_current
    (tmp_path / "group").unlink()
    assert not made.is_current


def test_what_a_private_view_writes_is_seen_by_nobody(tmp_path):
    path = str(tmp_path / "group")
    made = filled(path, 3)
    SmallArrays(path, is_private=True).array(specs(3)[1])[:] = 99
    assert (made.array(specs(3)[1]) == 1).all()


def test_a_file_that_was_replaced_is_not_written_to(tmp_path):
    path = str(tmp_path / "group")
    made = filled(path, 3)
    (tmp_path / "group").unlink()
    filled(path, 4)
    with pytest.raises(Replaced):
        made.make_room(NUMBERS, 1000)


def test_a_row_that_is_larger_than_a_small_array_has_a_file_from_the_first(tmp_path):
    arena = Arena(tmp_path)
    arena.array("group.table", np.uint8, (LARGEST + 1,), 1)[0, -1] = 5
    assert ArenaView(tmp_path).array("group.table", np.uint8, (LARGEST + 1,), 1)[0, -1] == 5
    assert not (tmp_path / "small").exists()


def test_a_view_follows_an_array_from_the_common_file_to_one_of_its_own(tmp_path):
    arena, view = Arena(tmp_path), ArenaView(tmp_path)
    for rows in (1, 9, 1000, 100_000, 300_000):
        arena.array("group.numbers", np.int64, (), rows)[rows - 1] = rows
        assert view.array("group.numbers", np.int64, (), rows)[rows - 1] == rows
    arena.drop("group")
    assert not view.array("group.numbers", np.int64, (), 3).any()
