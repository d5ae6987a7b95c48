"""Durations and moments as people read them. Durations come in microseconds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from dashboard.calls.timing import Stretch
from gateway.core.time_spans import DAY_S, HOUR_S, MINUTE_S

register = template.Library()

DASH = "\N{EN DASH}"
MS_US = 1_000
S_US = 1_000_000
MONTH_S = 30 * DAY_S
# What is longer ago than this is told by its date.
FAR_S = 2 * MONTH_S
_SPANS = ((DAY_S, "d"), (HOUR_S, "h"), (MINUTE_S, "min"))


@register.filter
def duration(us: float | None) -> str:
    """Return a duration in the unit that suits it: `412 us` as µs, `3.4 ms`, `1.25 s`, `2 min 3 s`.

    None, a duration that does not exist, is a dash.
    """
    if us is None:
        return DASH
    if us < MS_US:
        return f"{us:.0f} µs"
    if us < S_US:
        return f"{_three_digits(us / MS_US)} ms"
    if us < MINUTE_S * S_US:
        return f"{_three_digits(us / S_US)} s"
    minutes, seconds = divmod(round(us / S_US), MINUTE_S)
    return f"{minutes:,} min {seconds} s"


@register.simple_tag
def ago(moment: datetime | None, never: str = "never") -> SafeString:
    """Return how long ago or how far ahead, with the exact moment on hover and for programs."""
    if moment is None:
        return format_html('<span class="faint">{}</span>', never)
    return _time(moment, relative(moment, timezone.now()))


@register.simple_tag
def when(moment: datetime | None, never: str = "never") -> SafeString:
    """Return the moment itself: `21 Nov 2026, 09:14:03 UTC`."""
    if moment is None:
        return format_html('<span class="faint">{}</span>', never)
    return _time(moment, exact(moment))


@register.simple_tag
def minute(moment: datetime) -> SafeString:
    """Return day and minute, with the exact moment on hover: `21 Nov, 09:14`."""
    return _time(moment, f"{moment.astimezone(UTC):%-d %b, %H:%M}")


@register.simple_tag
def day(moment: datetime) -> SafeString:
    """Return the date, with the exact moment on hover."""
    return _time(moment, f"{moment.astimezone(UTC):%-d %b %Y}")


def relative(moment: datetime, now: datetime) -> str:
    """Return `just now`, `3 min ago`, `in 2 d`, or the date of what is far away."""
    past_s = (now - moment).total_seconds()
    distance_s = abs(past_s)
    if distance_s >= FAR_S:
        return f"{moment.astimezone(UTC):%-d %b %Y}"
    for length_s, unit in _SPANS:
        if distance_s >= length_s:
            words = f"{int(distance_s // length_s)} {unit}"
            return f"{words} ago" if past_s > 0 else f"in {words}"
    if past_s < 0:
        return "in less than 1 min"
    return "just now" if distance_s < 5 else f"{int(distance_s)} s ago"


def exact(moment: datetime) -> str:
    """Return the moment to the second, in UTC."""
    return f"{moment.astimezone(UTC):%-d %b %Y, %H:%M:%S} UTC"


def _time(moment: datetime, words: str) -> SafeString:
    iso = moment.astimezone(UTC).isoformat(timespec="seconds")
    return format_html(
        '<time datetime="{}" title="{}" class="nowrap">{}</time>', iso, exact(moment), words
    )


def _three_digits(number: float) -> str:
    """Return three significant digits, without zeros that say nothing."""
    digits = 2 if number < 9.995 else 1 if number < 99.95 else 0
    text = f"{number:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@register.filter
def stretches_text(bar: Sequence[Stretch]) -> str:
    """Return in words what the bar of a call's time draws."""
    texts = [f"{each.part.label} {duration(each.part.duration_us)}" for each in bar]
    return ", ".join(texts) or "No time measured"
