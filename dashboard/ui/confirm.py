"""A question before something is done that programs or people would notice.

The same on a page of its own and in the dialog: a view shows it for GET, and acts for POST.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from django import forms
from django.http import HttpResponse

from dashboard.http.htmx import PageRequest, render_page


@dataclass(frozen=True, kw_only=True)
class Question:
    """Variables of dashboard/confirm.html and components/_confirm.html.

    lines: what will happen, a paragraph each. action: the address that does it. button: the words
    on the button that does it. back: where Cancel leads. form: what has to be filled in, if
    anything. hidden: further fields that are sent.
    """

    title: str
    lines: list[str]
    action: str
    button: str
    back: str
    form: forms.Form | None = None
    hidden: Mapping[str, str] = field(default_factory=dict)
    is_danger: bool = True


def ask(request: PageRequest, question: Question, *, status: int = 200) -> HttpResponse:
    """Show the question: to htmx as the content of the dialog, else as a page."""
    return render_page(
        request,
        page="dashboard/confirm.html",
        partial="components/_confirm.html",
        context=question,
        status=status,
    )
