"""Answers what Django would refuse anyhow, without asking it: a flood of such requests is cheap.

Django needs a thread and some milliseconds for a page that says there is nothing. For visitors
without a session that page is always the same, as is the refusal of a form without its cookie.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from django.conf import settings
from django.http import HttpRequest

from gateway.api.errors import missing_endpoint
from gateway.api.mount import SCOPE_KEY
from gateway.api.views import unknown_path
from gateway.core.asgi import Application, Receive, Scope, Send
from gateway.core.mounts import is_meant_for_api, is_named_as_endpoint
from gateway.web.form_routes import find_view, refusal_page

Headers = Iterable[tuple[bytes, bytes]]

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


class UnknownPaths:
    """ASGI middleware in front of Django, for pages and the API."""

    def __init__(self, application: Application) -> None:
        self._application = application
        self._session = settings.SESSION_COOKIE_NAME.encode() + b"="
        self._csrf = settings.CSRF_COOKIE_NAME.encode() + b"="
        # The first page reads templates and icons, which would hold the loop. Where the static
        # files were not collected there are no pages, and the API works all the same.
        with suppress(ValueError):
            refusal_page(404, "")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, headers = scope["path"], scope["headers"]
        if SCOPE_KEY in scope:
            if not is_known(path):
                await _refuse_endpoint(scope, send)
                return
        elif not path.startswith(settings.STATIC_URL):
            cookies = b";".join([value for name, value in headers if name == b"cookie"])
            if self._is_meant_for_api(path, headers, cookies):
                await _refuse_endpoint(scope, send)
                return
            status = self._find_refusal(scope["method"], path, headers, cookies)
            if status:
                page_headers, body = refusal_page(status, "")
                length = (b"content-length", b"%d" % len(body))
                await send_whole(send, status, [*page_headers, length], body)
                return
        await self._application(scope, receive, send)

    def _is_meant_for_api(self, path: str, headers: Headers, cookies: bytes) -> bool:
        """True for a program whose base URL is wrong: it asks for an endpoint where none is, or it
        shows a key at a page of an endpoint's name, and no browser does."""
        if not is_known(path) and is_meant_for_api(path):
            return True
        if self._session in cookies or not is_named_as_endpoint(path):
            return False
        fields = dict(headers)
        shows_key = fields.get(b"authorization", b"")[:7].lower() == b"bearer "
        return shows_key and b"text/html" not in fields.get(b"accept", b"")

    def _find_refusal(self, method: str, path: str, headers: Headers, cookies: bytes) -> int:
        """Return the status that a visitor without a session gets for certain, 0 for none."""
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
    view = find_view(path)
    return view is not None and getattr(view, "__wrapped__", view) is not unknown_path


async def _refuse_endpoint(scope: Scope, send: Send) -> None:
    request = HttpRequest()
    request.scope = scope  # type: ignore[attr-defined]
    request.path = scope["path"]
    response = missing_endpoint(request)
    headers = [(name.lower().encode(), value.encode()) for name, value in response.items()]
    await send_whole(send, response.status_code, headers, response.content)


async def send_whole(send: Send, status: int, headers: Headers, body: bytes) -> None:
    """Send an answer that no view made."""
    await send({"type": "http.response.start", "status": status, "headers": list(headers)})
    await send({"type": "http.response.body", "body": body})
