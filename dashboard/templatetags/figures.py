"""Formats figures: a unit set apart, a change with its sign."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from dashboard.overview.figures import Tile
from dashboard.templatetags.money import MINUS
from gateway.core.money import NUSD_PER_USD

register = template.Library()

_UNCHANGED = 0.0005
_TENFOLD = 9.0
_WORTH_A_COLOUR = 0.05


@register.filter
def apart(text: str) -> SafeString:
    """Return "83.2 ms" with its unit marked up, so that it can be set smaller."""
    value, _, unit = str(text).rpartition(" ")
    if not value:
        return format_html("{}", text)
    return format_html('{}<span class="unit">{}</span>', value, unit)


@register.filter
def change(share: float | None) -> str:
    """Return a change as `+12 %`; beyond tenfold as a factor; "" when there is nothing to say."""
    if share is None:
        return ""
    if abs(share) < _UNCHANGED:
        return "unchanged"
    if share >= _TENFOLD:
        return f"{share + 1:,.0f} times"
    size = abs(share) * 100
    return f"{'+' if share > 0 else MINUS}{size:.{0 if size >= 9.95 else 1}f} %"


@register.filter
def change_class(tile: Tile) -> str:
    """Return the class for a tile's change: a judgement only where up is plainly worse."""
    if not tile.worse_when_up or tile.change is None or abs(tile.change) < _WORTH_A_COLOUR:
        return "change-plain"
    return "change-worse" if tile.change > 0 else "change-better"


@register.filter
def share_of(part: int, whole: int) -> str:
    """Return what share of the whole a part is, in percent with one decimal at most."""
    if not whole:
        return ""
    share = 100 * part / whole
    return "< 0.1 %" if 0 < share < 0.1 else f"{share:.{1 if share < 10 else 0}f} %"


@register.filter
def exact_ms(duration_us: int) -> str:
    """Return a duration to the microsecond, so that parts visibly add up: `1,978.234 ms`."""
    return f"{duration_us / 1_000:,.3f} ms"


@register.filter
def usd_nano(nusd: int) -> str:
    """Return the exact amount with all nine decimals, so that a column of them lines up."""
    whole, rest = divmod(abs(nusd), NUSD_PER_USD)
    return f"{MINUS if nusd < 0 else ''}${whole:,}.{rest:09d}"
