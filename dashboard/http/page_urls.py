"""The addresses of pages, and those that a browser says it comes from."""

from __future__ import annotations

from functools import lru_cache
from urllib.parse import urlsplit

from django.http import HttpRequest
from django.urls import URLPattern, get_resolver, reverse
from django.utils.http import url_has_allowed_host_and_scheme

from accounts.models import Workspace

SLUG = "workspace_slug"


def page_address(workspace: Workspace, name: str, *args: object) -> str:
    """Return the address of a page of this workspace. name: as in dashboard.urls, `key-list`."""
    return reverse(f"dashboard:{name}", args=[workspace.slug, *args])


@lru_cache(maxsize=1)
def names_of_workspace_pages() -> frozenset[str]:
    """Return the full names of the addresses that a workspace is part of."""
    _, resolver = get_resolver().namespace_dict["dashboard"]
    return frozenset(
        f"dashboard:{each.name}"
        for each in resolver.url_patterns
        if isinstance(each, URLPattern) and each.name and SLUG in each.pattern.converters
    )


def own_address(request: HttpRequest, url: str) -> str:
    """Return path and query of a page of ours, "/" for any other."""
    if not url_has_allowed_host_and_scheme(url, allowed_hosts={request.get_host()}):
        return "/"
    parts = urlsplit(url)
    path = parts.path or "/"
    return f"{path}?{parts.query}" if parts.query else path
