"""What holds for every page: it is private, and a session that ended leads back to it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from urllib.parse import urlencode, urlsplit

from django.contrib import messages
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import resolve_url
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

from dashboard.error_pages.views import database_busy, wrong_method
from dashboard.http.page_urls import own_address

log = logging.getLogger(__name__)

JSON = "application/json"
READS = ("GET", "HEAD", "OPTIONS")
NOT_SAVED = "You were signed out and your changes were not saved. Sign in and try again."
FEATURES_OFF = (
    "camera=(), microphone=(), geolocation=(), payment=(), usb=(), "
    "publickey-credentials-get=(self), publickey-credentials-create=(self)"
)


class NoStoreMiddleware:
    """Keeps pages out of caches, and turns sign-in redirects of htmx calls into navigations."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if _goes_to_sign_in(response):
            response = _sign_in(request, response)
        if response.status_code == 405 and not response.get("Content-Type", "").startswith(JSON):
            response = wrong_method(request, response.get("Allow", ""))
        response.setdefault("Cache-Control", "no-store, private")
        response.setdefault("Permissions-Policy", FEATURES_OFF)
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        """Say that the database is locked or away, which is no fault of the page's."""
        if not isinstance(exception, OperationalError):
            return None
        log.warning("a page cannot reach the database: %s", exception)
        return database_busy(request)


def _goes_to_sign_in(response: HttpResponse) -> bool:
    """True when a page asks for a session first; who has signed out is led nowhere after."""
    if response.status_code != 302:
        return False
    target = urlsplit(response["Location"])
    return target.path == reverse("account_login") and "next=" in target.query


def _sign_in(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Lead to the sign-in page, and from there to the page the person is on, not to its part."""
    is_partial = bool(getattr(request, "htmx", False))
    if request.method not in READS:
        messages.error(request, NOT_SAVED)
    elif not is_partial:
        return response
    page = request.headers.get("HX-Current-URL" if is_partial else "Referer", "")
    url = f"{resolve_url('account_login')}?{urlencode({'next': own_address(request, page)})}"
    # A redirect would be followed by the XHR, and the sign-in page end up in a fragment.
    return HttpResponseClientRedirect(url) if is_partial else HttpResponseRedirect(url)
