"""The table [metrics] of the settings."""

from __future__ import annotations

from dataclasses import dataclass, field

from service.setting_values import SettingsError

_MOST_WATCHES = 100  # each is three time series


@dataclass(frozen=True)
class MetricsSettings:
    """What the metrics tell beside the engine's own figures."""

    watches: tuple[str, ...] = field(
        default=(), metadata={"help": "ids of watches whose answers become gauges, 100 at most"}
    )

    def __post_init__(self) -> None:
        if len(self.watches) > _MOST_WATCHES:
            raise SettingsError(
                f"metrics.watches: {len(self.watches)} ids: expected at most {_MOST_WATCHES}"
            )
