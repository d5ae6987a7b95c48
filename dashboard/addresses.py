"""Addresses that a browser says it comes from, taken only when they are ours."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme


def own_address(request: HttpRequest, url: str) -> str:
    """Return path and query of a page of ours, "/" for any other."""
    if not url_has_allowed_host_and_scheme(url, allowed_hosts={request.get_host()}):
        return "/"
    parts = urlsplit(url)
    path = parts.path or "/"
    return f"{path}?{parts.query}" if parts.query else path
