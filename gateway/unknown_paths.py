"""Answers what Django would refuse anyhow, without asking it: a flood of such requests is cheap.

Django needs a thread and some milliseconds for a page that says there is nothing. For visitors
without a session that page is always the same, as is the refusal of a form without its cookie.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.urls import Resolver404, resolve

from gateway.api.mount import SCOPE_KEY
from gateway.api.views import unknown_path
from gateway.form_routes import refusal_page

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Headers = Iterable[tuple[bytes, bytes]]

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


class UnknownPaths:
    """ASGI middleware in front of Django, for pages and the API."""

    def __init__(self, application: Any) -> None:
        self._application = application
        self._session = settings.SESSION_COOKIE_NAME.encode() + b"="
        self._csrf = settings.CSRF_COOKIE_NAME.encode() + b"="
        # The first page reads templates and icons, which would hold the loop. Where the static
        # files were not collected there are no pages, and the API works all the same.
        with suppress(ValueError):
            refusal_page(404, "")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if SCOPE_KEY in scope:
            if not is_known(path):
                await _answer(send, *_api_refusal(scope))
                return
        elif not path.startswith(settings.STATIC_URL):
            status = self._find_refusal(scope["method"], path, scope["headers"])
            if status:
                headers, body = refusal_page(status, "")
                length = (b"content-length", b"%d" % len(body))
                await _answer(send, status, [*headers, length], body)
                return
        await self._application(scope, receive, send)

    def _find_refusal(self, method: str, path: str, headers: Headers) -> int:
        """Return the status that a visitor without a session gets for certain, 0 for none."""
        cookies = b";".join([value for name, value in headers if name == b"cookie"])
        if self._session in cookies:
            return 0
        if not is_known(path):
            return 404
        if method in SAFE_METHODS or self._csrf in cookies:
            return 0
        # Whether a form in chunks is too long is not known yet, and is the better answer.
        return 403 if any(name == b"content-length" for name, _ in headers) else 0


def is_known(path: str) -> bool:
    """True when there is a view at the path, other than the API's for what it does not have."""
    try:
        view = resolve(path).func
    except Resolver404:
        return False
    return getattr(view, "__wrapped__", view) is not unknown_path


def _api_refusal(scope: Scope) -> tuple[int, Headers, bytes]:
    request = HttpRequest()
    request.scope = scope  # type: ignore[attr-defined]
    request.path = scope["path"]
    response = unknown_path(request)
    headers = [(name.lower().encode(), value.encode()) for name, value in response.items()]
    return response.status_code, headers, response.content


async def _answer(send: Send, status: int, headers: Headers, body: bytes) -> None:
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})
    await send({"type": "http.response.body", "body": body})
