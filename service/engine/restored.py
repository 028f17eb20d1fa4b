"""A checkpoint that is older than what its topics tell: restored from a back-up, or not theirs.

Batches are numbered by the checkpoint. One that is set back counts again from an earlier number,
and the sink would take its new batches for those that were written before: their replies would be
lost in silence. A new checkpoint beside topics that an engine has used would carry out all requests
again; and if that engine still runs, both would answer each request.
"""

from __future__ import annotations

from collections.abc import Callable

from service.engine.batch_log import BatchLog
from service.engine.checkpoint_name import rename_checkpoint
from service.engine.query import last_written, sink_options
from service.kafka.logs import LogEnds
from service.kafka.markers import NOTHING_WRITTEN
from service.settings import Settings
from service.startup_errors import StartupError


def check_restored(settings: Settings, report: Callable[[str], None]) -> None:
    """Called when an engine starts, before its query does; the topics must be there.

    With `on_restored` "continue" the checkpoint gets a new name: its replies are a new series then,
    and what the engine told itself before does not count.
    """
    planned, written = BatchLog(settings.checkpoint).planned(), last_written(settings)
    if planned == written == NOTHING_WRITTEN:
        _check_unused(settings, report)
    if written <= planned:
        return
    found = (
        f"the checkpoint {settings.checkpoint} ends with batch {planned}, but replies were written "
        f"up to batch {written}: it was set back, as by a back-up"
    )
    if settings.on_restored == "stop":
        raise StartupError(
            f"{found}. Bring the newer checkpoint back; or set on_restored to 'continue': "
            "everything since the back-up is read again, and its replies are written a second time."
        )
    rename_checkpoint(settings)
    report(f"{found}; everything since then is read again and answered a second time")


def _check_unused(settings: Settings, report: Callable[[str], None]) -> None:
    """Of a new checkpoint: whether an engine told itself something through the same topic."""
    topics = settings.topics
    place = (topics.union, 0)
    logs = LogEnds(settings.kafka_config, [topics.union], sink_options(settings).patience)
    if not logs.high_watermarks([place])[place]:
        return
    found = (
        f"the checkpoint {settings.checkpoint} is new, but an engine has used its topics before "
        f"({topics.union} is not empty)"
    )
    if settings.on_restored == "stop":
        raise StartupError(
            f"{found}. If that one still runs, name other topics here: both would answer every "
            f"request. If it is gone for good, set on_restored to 'continue': all that is in "
            f"{topics.requests} and {', '.join(topics.data)} is read and answered again."
        )
    report(f"{found}; everything in them is read again and answered a second time")
