"""Icons: inline SVG from the lucide package, hidden from screen readers."""

from __future__ import annotations

from functools import lru_cache

from django import template
from django.utils.safestring import SafeString, mark_safe
from lucide.templatetags.lucide import lucide

register = template.Library()


@register.simple_tag
def icon(name: str, size: int = 16) -> SafeString:
    """Return the icon. It says nothing that the words beside it do not."""
    return _drawn(str(name), size)


@lru_cache(maxsize=256)
def _drawn(name: str, size: int) -> SafeString:
    attributes = {"class": "icon", "aria-hidden": "true", "focusable": "false"}
    # Ours and the package's markup only: no value in it comes from a request.
    return mark_safe(lucide(name, size=size, **attributes))  # noqa: S308
