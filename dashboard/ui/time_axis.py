"""The horizontal axis of a chart: steps of time, and marks at round times among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

_MAX_LABELS = 8
HOUR_S = 3_600
DAY_S = 24 * HOUR_S
_TICK_INTERVALS_S = (
    900,
    *(HOUR_S * hours for hours in (1, 2, 3, 6, 12)),
    *(DAY_S * days for days in (1, 2, 4, 7, 14, 28, 56)),
)
# A label begins at its mark. One that would leave its card on the right is left out: the narrowest
# plots are those on a phone, and those that are just wide enough for minor marks (charts.css).
NARROW_PLOT_PX, WIDE_PLOT_PX = 194, 428
LABEL_PX_PER_CHARACTER = 7.1  # in the widest of common fonts
BEYOND_PLOT_PX = 16  # of the card's padding, which has 20


@dataclass(frozen=True, slots=True)
class Tick:
    """A mark on an axis. at: a percentage across, or units down from the top."""

    at: str
    label: str
    is_minor: bool = False
    anchor: str = "middle"


@dataclass(frozen=True, slots=True)
class Axis:
    """The steps of a chart's horizontal axis: their starts, evenly spaced, oldest first."""

    starts: Sequence[datetime]
    step_s: int

    def label(self, index: int) -> str:
        """Return the step's name in full: it is a stretch of time, so it says both ends."""
        start = self.starts[index]
        if self.step_s >= DAY_S:
            days = self.step_s // DAY_S
            return f"{start:%a %-d %b}" if days == 1 else f"{days} days from {start:%-d %b}"
        end = datetime.fromtimestamp(start.timestamp() + self.step_s, tz=start.tzinfo)
        return f"{start:%a %-d %b, %H:%M} to {end:%H:%M} UTC"

    def query(self, index: int) -> str:
        """Return the step as the part of a URL that chooses a period."""
        start = self.starts[index]
        end = start + timedelta(seconds=self.step_s)
        return f"from={start:%Y-%m-%dT%H:%M}&to={end:%Y-%m-%dT%H:%M}"

    def ticks(self) -> list[Tick]:
        """Return a few marks at round times. Narrow charts leave out those that are minor: every
        second, and one whose label has no room there."""
        every_s = self._tick_interval_s()
        first_day_s = int(self.starts[0].timestamp()) // DAY_S * DAY_S
        ticks: list[Tick] = []
        for index, start in enumerate(self.starts):
            if (int(start.timestamp()) - first_day_s) % every_s:
                continue
            share = index / len(self.starts)
            label = f"{start:%-d %b}" if every_s >= DAY_S else f"{start:%H:%M}"
            if not _has_room(label, share, WIDE_PLOT_PX):
                continue
            is_minor = len(ticks) % 2 == 1 or not _has_room(label, share, NARROW_PLOT_PX)
            ticks.append(Tick(f"{100 * share:.3f}%", label, is_minor, "start"))
        return ticks

    def _tick_interval_s(self) -> int:
        covered_s = len(self.starts) * self.step_s
        fitting = (each for each in _TICK_INTERVALS_S if covered_s <= each * _MAX_LABELS)
        return max(next(fitting, covered_s), self.step_s)


def _has_room(label: str, share: float, plot_px: int) -> bool:
    """True when the label fits to the right of its mark. share: of the plot, left of the mark."""
    return len(label) * LABEL_PX_PER_CHARACTER <= (1 - share) * plot_px + BEYOND_PLOT_PX
