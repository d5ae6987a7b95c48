"""Detects that somebody else changed a thing while a form of it was filled in."""

from __future__ import annotations

import hashlib
import json

from django import forms
from django.utils.html import format_html


def version_token(fields: object) -> str:
    """Return a token that differs when the fields, anything JSON can write, differ."""
    return hashlib.sha256(json.dumps(fields).encode()).hexdigest()[:16]


def changed_meanwhile(form: forms.Form, thing: str, version: str) -> bool:
    """True for a valid form that was filled in for another version of the thing, and it says so,
    with a way to see the thing: a reload would send the form again.

    version: the token of the thing as it is; the form has that of before as `seen`.
    """
    if not form.is_valid() or form.cleaned_data["seen"] == version:
        return False
    words = (
        "Someone else changed this {} in the meantime. Copy your changes, then"
        ' <a href="">reload the page</a>.'
    )
    form.add_error(None, format_html(words, thing))
    return True
