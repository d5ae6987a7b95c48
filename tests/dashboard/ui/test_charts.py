"""Charts: round ticks, bars that stack to their sum, lines with gaps, words beside the drawing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from django.template.loader import render_to_string
from hypothesis import given
from hypothesis import strategies as st

from dashboard.templatetags.timespan import duration
from dashboard.ui.charts import HEIGHT, Chart, Series, bar_chart, line_chart, sparkline
from dashboard.ui.scales import COUNTS, DURATIONS, LOG_DURATIONS, MONEY, Scale, show_count
from dashboard.ui.time_axis import (
    BEYOND_PLOT_PX,
    LABEL_PX_PER_CHARACTER,
    NARROW_PLOT_PX,
    WIDE_PLOT_PX,
    Axis,
)
from gateway.selectors.periods import NAMED_PERIODS, named_period

START = datetime(2026, 11, 18, tzinfo=UTC)


def hours(count: int) -> Axis:
    return Axis([START + timedelta(hours=i) for i in range(count)], 3600)


def bars(*series: Series) -> Chart:
    axis = hours(len(series[0].values))
    return bar_chart("b", title="Calls", axis=axis, series=series, scale=COUNTS, show=show_count)


def lines(*series: Series, scale: Scale = DURATIONS) -> Chart:
    axis = hours(len(series[0].values))
    return line_chart("l", title="Time", axis=axis, series=series, scale=scale, show=duration)


@given(st.lists(st.integers(0, 10**12), min_size=1), st.sampled_from([COUNTS, DURATIONS, MONEY]))
def test_ticks_are_few_round_and_reach_beyond_every_value(values: list[int], scale: Scale) -> None:
    ruler = scale.fit(values)

    ticks = [value for value, _ in ruler.ticks]
    assert 2 <= len(ticks) <= 6
    assert ticks[0] == 0
    assert ticks[-1] >= max(values) * (1 - 1e-9)
    assert all(tick == int(tick) for tick in ticks)
    assert ruler.share(ticks[-1]) == 1


@given(st.lists(st.floats(0.5, 1e11), min_size=1))
def test_a_logarithmic_scale_has_a_tick_for_every_decade(values: list[float]) -> None:
    ruler = LOG_DURATIONS.fit(values)

    ticks = [value for value, _ in ruler.ticks]
    assert ticks[0] <= min(values) * (1 + 1e-9)
    assert ticks[-1] >= max(values) * (1 - 1e-9)
    assert all(high / low == pytest.approx(10) for low, high in pairwise(ticks))
    assert all(0 <= ruler.share(value) <= 1 + 1e-9 for value in values)


@pytest.mark.parametrize(
    ("highest_us", "labels"),
    [
        (3, ["0", "1 µs", "2 µs", "3 µs"]),
        (9_200, ["0", "5 ms", "10 ms"]),
        (1_700_000, ["0", "500 ms", "1 s", "1.5 s", "2 s"]),
        (48_000_000, ["0", "15 s", "30 s", "45 s", "1 min"]),
        (110_000_000, ["0", "30 s", "1 min", "90 s", "2 min"]),
        (4_000_000_000, ["0", "30 min", "1 h", "90 min"]),
    ],
)
def test_ticks_of_durations_are_round_in_their_own_units(
    highest_us: int, labels: list[str]
) -> None:
    assert [label for _, label in DURATIONS.fit([highest_us]).ticks] == labels


def test_decades_of_durations_are_one_number_with_one_unit() -> None:
    labels = [label for _, label in LOG_DURATIONS.fit([800, 2e8]).ticks]

    assert labels == ["100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s", "100 s", "1,000 s"]


def test_the_parts_of_a_bar_stand_on_one_another() -> None:
    chart = bars(Series("ok", "OK", [30, 0]), Series("refused", "Refused", [10, 0]))

    lower, upper = chart.readings[0].segments
    assert (lower.y, lower.height) == ("40.00", "120.00")
    assert (upper.y, upper.height) == ("0.00", "40.00")
    assert chart.readings[1].segments == ()


def test_a_small_part_of_a_bar_stays_visible() -> None:
    chart = bars(Series("ok", "OK", [100_000]), Series("refused", "Refused", [1]))

    assert float(chart.readings[0].segments[1].height) > 1


def test_a_line_has_a_gap_where_there_is_no_value() -> None:
    chart = lines(Series("p50", "p50", [1_000, 2_000, None, 2_000, None]))

    [line] = chart.lines
    assert line.path.count("M") == 2
    assert line.path.count("L") == 1
    assert len(line.dots) == 1
    assert chart.readings[2].cells == (("p50", "p50", "no calls"),)


def test_a_value_at_the_top_touches_the_top() -> None:
    chart = lines(Series("p50", "p50", [4_000, 8_000]))

    assert chart.lines[0].path.endswith(" 0.00")
    assert (chart.y_ticks[0].at, chart.y_ticks[0].label) == (f"{HEIGHT:.2f}", "0")
    assert [tick.label for tick in chart.y_ticks[1:]] == ["2 ms", "4 ms", "6 ms", "8 ms"]


def test_a_chart_of_nothing_says_so() -> None:
    chart = bars(Series("ok", "OK", [0, 0]))

    html = render_to_string("components/_chart_card.html", {"chart": chart, "calls": "/calls"})

    assert chart.is_empty
    assert "No data in this period." in html
    assert "data-plot" not in html


def test_a_drawing_comes_with_words_a_table_and_no_styles() -> None:
    chart = bars(Series("ok", "OK <b>", [3, 4], total="7"))

    html = render_to_string("components/_chart_card.html", {"chart": chart, "calls": "/calls"})

    assert '<title id="title-b">Calls</title>' in html
    assert "Lowest 3, highest 4." in html
    assert html.count('<td class="num">') == 2
    assert "style=" not in html
    assert "<b>" not in html


def test_labels_of_a_time_axis_are_few_and_every_second_may_be_left_out() -> None:
    ticks = hours(48).ticks()

    assert len(ticks) <= 8
    assert [tick.is_minor for tick in ticks[:4]] == [False, True, False, True]
    assert ticks[0].label == "00:00"


@pytest.mark.parametrize(
    ("start", "step_s", "steps", "labels"),
    [
        ("2026-11-18T14:15", 900, 4, ["14:15", "14:30", "14:45", "15:00"]),
        ("2026-11-17T15:30", 1800, 48, ["18:00", "21:00", "00:00", "03:00"]),
        ("2026-11-11T18:00", 10_800, 56, ["12 Nov", "13 Nov", "14 Nov", "15 Nov"]),
        ("2026-10-20T00:00", 86_400, 30, ["20 Oct", "24 Oct", "28 Oct", "1 Nov"]),
    ],
)
def test_marks_of_a_time_axis_stand_at_round_times(
    start: str, step_s: int, steps: int, labels: list[str]
) -> None:
    first = datetime.fromisoformat(f"{start}+00:00")
    axis = Axis([first + timedelta(seconds=step_s * i) for i in range(steps)], step_s)

    assert [tick.label for tick in axis.ticks()][:4] == labels


@pytest.mark.parametrize("name", NAMED_PERIODS)
def test_no_label_of_a_time_axis_leaves_its_card_at_any_time_of_day(name: str) -> None:
    beyond, counts = [], []
    for minute in range(0, 24 * 60, 15):
        # In November and in May, whose name is the widest.
        for day in (START, START.replace(month=5)):
            period = named_period(name, now=day + timedelta(minutes=minute + 1))
            ticks = Axis(period.step_starts(), period.step_s).ticks()
            counts.append(len(ticks))
            for tick in ticks:
                plot_px = WIDE_PLOT_PX if tick.is_minor else NARROW_PLOT_PX
                room_px = (1 - float(tick.at.rstrip("%")) / 100) * plot_px + BEYOND_PLOT_PX
                if len(tick.label) * LABEL_PX_PER_CHARACTER > room_px:
                    beyond.append((minute, tick))

    assert beyond == []
    assert max(counts) <= 8
    assert min(counts) >= (1 if name == "today" else 4)


def test_a_sparkline_needs_two_values_and_something_to_show() -> None:
    assert sparkline([0, 0, 0]) == ""
    assert sparkline([5]) == ""
    assert sparkline([0, 10]) == "M0.00 23.00L100.00 1.00"
