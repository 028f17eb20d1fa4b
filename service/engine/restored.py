"""A checkpoint that is older than what was written for it: somebody restored it from a back-up.

Batches are numbered by the checkpoint. One that is set back counts again from an earlier number,
and the sink would take its new batches for those that were written before: their replies would be
lost in silence.
"""

from __future__ import annotations

from collections.abc import Callable

from service.engine.batch_log import BatchLog
from service.engine.checkpoint_name import rename_checkpoint
from service.engine.query import last_written
from service.settings import Settings
from service.startup_errors import StartupError


def check_restored(settings: Settings, report: Callable[[str], None]) -> None:
    """Called when an engine starts, before its query does; the topics must be there.

    With `on_restored` "continue" the checkpoint gets a new name: its replies are a new series then,
    and what the engine told itself before does not count.
    """
    planned, written = BatchLog(settings.checkpoint).planned(), last_written(settings)
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
