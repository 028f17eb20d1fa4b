"""An engine in this process, for tests: the real three stages, without Spark and Kafka."""

from sde.limits import StateLimits
from sde.plugins.trust import Trust
from sde.testing.engine import LocalEngine
from sde.testing.messages import messages
from sde.testing.transport import LocalTransport

__all__ = ["LocalEngine", "LocalTransport", "StateLimits", "Trust", "messages"]
