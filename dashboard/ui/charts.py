"""Charts as numbers that a template draws: bars and lines in SVG, with real axes.

Horizontal positions are percentages, vertical ones are units of a plot HEIGHT high, so a chart
stretches with its card while its text and strokes keep their size. No colours here: a series
has a name, and static/css/charts.css says how that looks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dashboard.ui.scales import Ruler, Scale
from dashboard.ui.time_axis import Axis, Tick

HEIGHT = 160
_BAR_SHARE = 0.72  # of its step; the rest is the gap to the next bar
_LEAST_SEGMENT = 1.5  # a value above zero stays visible

Format = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Series:
    """One colour of a chart. values: one per step; None leaves a gap in a line. query: what finds
    the calls behind it, as part of a URL."""

    name: str
    label: str
    values: Sequence[float | None]
    total: str = ""
    query: str = ""


@dataclass(frozen=True, slots=True)
class Segment:
    """One series' part of one bar."""

    series: str
    y: str
    height: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a chart says at one step: for the tooltip, and a row of its table. query: what finds the
    calls of the step, as part of a URL."""

    label: str
    query: str
    cells: tuple[tuple[str, str, str], ...]  # (series, label, formatted value)
    left: str
    width: str
    bar_left: str = ""
    bar_width: str = ""
    segments: tuple[Segment, ...] = ()


@dataclass(frozen=True, slots=True)
class Line:
    """A path in a box of 1000 by HEIGHT. dots: steps with no neighbour to draw a line to."""

    series: str
    path: str
    dots: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Everything a template needs to draw a chart and to say it in words."""

    id: str
    title: str
    description: str
    series: Sequence[Series]
    readings: Sequence[Reading]
    x_ticks: Sequence[Tick]
    y_ticks: Sequence[Tick]
    lines: Sequence[Line] = ()
    height: int = HEIGHT
    is_empty: bool = False


def bar_chart(
    id: str, *, title: str, axis: Axis, series: Sequence[Series], scale: Scale, show: Format
) -> Chart:
    """Return stacked bars, the first series at the bottom. show: formats one value."""
    sums = [sum(each.values[i] or 0 for each in series) for i in range(len(axis.starts))]
    ruler = scale.fit(sums)
    step = 100 / len(axis.starts)
    readings = []
    for index in range(len(axis.starts)):
        readings.append(
            Reading(
                label=axis.label(index),
                query=axis.query(index),
                cells=_cells(series, index, show),
                left=f"{index * step:.3f}%",
                width=f"{step:.3f}%",
                bar_left=f"{(index + (1 - _BAR_SHARE) / 2) * step:.3f}%",
                bar_width=f"{_BAR_SHARE * step:.3f}%",
                segments=_segments(series, index, ruler),
            )
        )
    return Chart(
        id=id,
        title=title,
        description=_describe(title, axis, sums, show),
        series=series,
        readings=readings,
        x_ticks=axis.ticks(),
        y_ticks=_y_ticks(ruler),
        is_empty=not any(sums),
    )


def line_chart(
    id: str, *, title: str, axis: Axis, series: Sequence[Series], scale: Scale, show: Format
) -> Chart:
    """Return one line per series, with gaps where there is no value. show: formats one value."""
    known = [value for each in series for value in each.values if value is not None]
    ruler = scale.fit(known)
    step = 100 / len(axis.starts)
    readings = [
        Reading(
            label=axis.label(index),
            query=axis.query(index),
            cells=_cells(series, index, show),
            left=f"{index * step:.3f}%",
            width=f"{step:.3f}%",
        )
        for index in range(len(axis.starts))
    ]
    return Chart(
        id=id,
        title=title,
        description=_describe(title, axis, known, show),
        series=series,
        readings=readings,
        x_ticks=axis.ticks(),
        y_ticks=_y_ticks(ruler),
        lines=[_line(each, ruler) for each in series],
        is_empty=not known,
    )


def sparkline(values: Sequence[float]) -> str:
    """Return a path through the values in a box of 100 by 24, or "" when there is nothing."""
    top = max(values, default=0)
    if len(values) < 2 or not top:
        return ""
    across = 100 / (len(values) - 1)
    points = (f"{i * across:.2f} {23 - 22 * value / top:.2f}" for i, value in enumerate(values))
    return "M" + "L".join(points)


def _cells(series: Sequence[Series], index: int, show: Format) -> tuple[tuple[str, str, str], ...]:
    def cell(each: Series) -> tuple[str, str, str]:
        value = each.values[index]
        return (each.name, each.label, "no calls" if value is None else show(value))

    return tuple(cell(each) for each in series)


def _segments(series: Sequence[Series], index: int, ruler: Ruler) -> tuple[Segment, ...]:
    segments = []
    floor = float(HEIGHT)
    for each in series:
        value = each.values[index] or 0
        if value <= 0:
            continue
        height = max(ruler.share(value) * HEIGHT, _LEAST_SEGMENT)
        floor = max(floor - height, 0)
        segments.append(Segment(each.name, f"{floor:.2f}", f"{height:.2f}"))
    return tuple(segments)


def _line(series: Series, ruler: Ruler) -> Line:
    across = 1000 / len(series.values)
    path: list[str] = []
    dots: list[tuple[str, str]] = []
    values = [*series.values, None]
    for index, value in enumerate(series.values):
        if value is None:
            continue
        x, y = (index + 0.5) * across, HEIGHT - ruler.share(value) * HEIGHT
        follows = index > 0 and values[index - 1] is not None
        path.append(f"{'L' if follows else 'M'}{x:.1f} {y:.2f}")
        if not follows and values[index + 1] is None:
            dots.append((f"{x / 10:.2f}%", f"{y:.2f}"))
    return Line(series.name, "".join(path), tuple(dots))


def _y_ticks(ruler: Ruler) -> list[Tick]:
    return [
        Tick(f"{HEIGHT - ruler.share(value) * HEIGHT:.2f}", label) for value, label in ruler.ticks
    ]


def _describe(title: str, axis: Axis, values: Sequence[float], show: Format) -> str:
    if not any(values):
        return f"{title}: nothing in this period."
    between = f"from {axis.label(0)} to {axis.label(len(axis.starts) - 1)}"
    return f"{title} {between}. Lowest {show(min(values))}, highest {show(max(values))}."
