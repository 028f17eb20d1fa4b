"""Kafka messages become blocks of tuples."""

from sde.decoding.limits import Limits
from sde.decoding.messages import Messages
from sde.decoding.tuples import Decoded, decode_tuples

__all__ = ["Decoded", "Limits", "Messages", "decode_tuples"]
