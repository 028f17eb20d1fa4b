"""Kafka messages become blocks of tuples. See `sde.decoding.tuples` for the way they go."""

from sde.decoding.decoded import Decoded
from sde.decoding.limits import Limits
from sde.decoding.messages import Messages
from sde.decoding.pieces import Pieces
from sde.decoding.records import decode_records
from sde.decoding.tuples import decode_tuples

__all__ = ["Decoded", "Limits", "Messages", "Pieces", "decode_records", "decode_tuples"]
