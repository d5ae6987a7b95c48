"""Links back."""

from __future__ import annotations

from typing import Any

from django import template
from django.template import Context
from django.urls import reverse

from dashboard.addresses import own_address

register = template.Library()


@register.simple_tag(takes_context=True)
def list_url(context: Context, name: str) -> str:
    """Return the address of a list, with the filters it had when the person came from it."""
    plain = reverse(name)
    request: Any = context.get("request")
    before = own_address(request, request.headers.get("Referer", "")) if request else plain
    return before if before.partition("?")[0] == plain else plain
