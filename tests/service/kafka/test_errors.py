import pickle

import pytest

from service.kafka.errors import BatchDamaged, LogTooShort, OffsetsLost
from service.kafka.retention import LostRange, checked_on_lost, lost_part


@pytest.mark.parametrize(
    "error", [OffsetsLost("t", 1, 5, 20), LogTooShort("t", 1, 20, 5), BatchDamaged("t", 1, 5)]
)
def test_an_error_says_where_and_which_setting_and_survives_pickle(error):
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)
    for part in ("'t'", "partition 1", *(f" {number}" for number in error.args[2:]), "on_lost"):
        assert part in str(error)


def test_lost_offsets_stop_or_are_passed_over_and_counted():
    with pytest.raises(OffsetsLost):
        lost_part("t", 0, 5, 30, 20, "stop")
    lost = lost_part("t", 0, 5, 30, 20, "continue")
    assert lost == LostRange("t", 0, 5, 20)
    assert lost.count == 15
    assert lost_part("t", 0, 5, 30, 99, "continue") == LostRange("t", 0, 5, 30)
    assert lost_part("t", 0, 5, 30, 5, "stop") is None


def test_an_unknown_policy_is_refused():
    with pytest.raises(ValueError, match="on_lost='ignore': expected 'stop' or 'continue'"):
        checked_on_lost("ignore")
