"""What the edge has to know of Django: which addresses take a body (gateway.edge.body_limits), and
how a refusal looks as a page."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from django.conf import settings
from django.http import HttpRequest, HttpResponseBase
from django.urls import Resolver404, get_resolver, resolve
from django.utils.module_loading import import_string

from gateway.edge.cors import MOUNTS
from gateway.edge.form_bytes import FORM_BYTES
from gateway.web import content_security_policy

View = TypeVar("View", bound=Callable[..., HttpResponseBase])

# The pages of the edge have no scripts, and nobody's name on them.
PAGE_HEADERS = (
    (b"content-type", b"text/html; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"same-origin"),
    (b"content-security-policy", content_security_policy.ERROR_PAGES),
)


class FormRoutes:
    """Made once, with every page's module loaded: the event loop shall not do that later."""

    def __init__(self) -> None:
        _ = get_resolver().url_patterns

    def form_bytes(self, method: str, path: str) -> int:
        """Return how long a body the view at the path may take with the method; 0 for none.

        A view that is a class says which methods it has. One that is a function may take a body, on
        a page; those of the API answer addresses that do not exist.
        """
        view = find_view(path)
        if view is None:
            return 0
        view_class = getattr(view, "view_class", None) or getattr(view, "cls", None)
        if view_class is not None:
            return FORM_BYTES if hasattr(view_class, method.lower()) else 0
        if MOUNTS.match(path) is not None:
            return 0
        return int(getattr(view, "body_bytes", FORM_BYTES))


def takes_upload(limit_bytes: int) -> Callable[[View], View]:
    """Let a view take a longer body than forms may have: one with a file in it. Put it outermost.

    What is in the form beside files stays limited by DATA_UPLOAD_MAX_MEMORY_SIZE.
    """

    def mark(view: View) -> View:
        setattr(view, "body_bytes", limit_bytes)  # noqa: B010 - functions declare no such field
        return view

    return mark


@lru_cache(maxsize=256)
def find_view(path: str) -> Callable[..., HttpResponseBase] | None:
    """Return the view at a path, or None. Remembered: the edge and gateway.web.unknown_paths ask
    for each request."""
    try:
        return resolve(path).func
    except Resolver404:
        return None


@lru_cache(maxsize=64)
def refusal_page(status: int, message: str) -> tuple[list[tuple[bytes, bytes]], bytes]:
    """Return head fields and body of the page for a request that the edge refuses.

    Rendered once: what the edge says depends on nothing that a caller chose.
    """
    view = import_string(settings.EDGE_REFUSAL_VIEW)
    return list(PAGE_HEADERS), view(HttpRequest(), status, message).content
