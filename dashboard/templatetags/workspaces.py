"""What a page says of the workspace that it was drawn for. See dashboard.workspace."""

from __future__ import annotations

from typing import Any

from django import template
from django.template import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString

from dashboard.workspace import SEEN_FIELD, NoWorkspace, current_workspace

register = template.Library()


@register.simple_tag(takes_context=True)
def workspace_field(context: Context) -> SafeString:
    """Return the hidden field that keeps a form in its workspace, whatever other tabs choose."""
    return format_html(
        '<input type="hidden" name="{}" value="{}">', SEEN_FIELD, workspace_seen(context)
    )


@register.simple_tag(takes_context=True)
def workspace_seen(context: Context) -> str:
    """Return the id of the workspace in view, "" where there is none."""
    # The request is part of the context even where a template was included with `only`.
    request: Any = getattr(context, "request", None)
    try:
        return str(current_workspace(request).pk) if request else ""
    except NoWorkspace:
        return ""
