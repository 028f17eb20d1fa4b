import pytest
from hypothesis import given
from hypothesis import strategies as st

from sde.wire.framing import FramingError, pack, unpack


@given(st.lists(st.binary(max_size=50), max_size=20))
def test_what_was_packed_is_unpacked(parts):
    assert unpack(pack(parts)) == parts


@given(st.lists(st.binary(max_size=20), max_size=5), st.integers(1, 30))
def test_a_cut_or_longer_bundle_is_refused(parts, cut):
    whole = pack(parts)
    for damaged in (whole[: max(0, len(whole) - cut)], whole + b"x" * cut):
        with pytest.raises(FramingError):
            unpack(damaged)


def test_a_lying_count_allocates_nothing():
    with pytest.raises(FramingError):
        unpack(b"\xff\xff\xff\xff" + b"\x00" * 64)
