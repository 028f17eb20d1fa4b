"""The dialect of INFORE's engine and of its STELAR descendant: translated in, and out again."""

from sde.infore.envelope import is_infore, reply_key
from sde.infore.logs import belongs_in_log, logging_message
from sde.infore.replies import answer_of
from sde.infore.requests import translate

__all__ = [
    "answer_of",
    "belongs_in_log",
    "is_infore",
    "logging_message",
    "reply_key",
    "translate",
]
