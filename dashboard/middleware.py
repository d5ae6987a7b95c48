"""What holds for every page: it is private, and a session that ended says so to htmx."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urlencode, urlsplit

from django.http import HttpRequest, HttpResponse
from django.shortcuts import resolve_url
from django.urls import reverse
from django_htmx.http import HttpResponseClientRedirect

from dashboard.views.errors import wrong_method

JSON = "application/json"
FEATURES_OFF = (
    "camera=(), microphone=(), geolocation=(), payment=(), usb=(), "
    "publickey-credentials-get=(self), publickey-credentials-create=(self)"
)


class PrivatePages:
    """Keeps pages out of caches, and turns sign-in redirects of htmx calls into navigations."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if getattr(request, "htmx", False) and _goes_to_sign_in(response):
            # A redirect would be followed by the XHR, and the sign-in page end up in a fragment.
            response = HttpResponseClientRedirect(_sign_in_url(request))
        if response.status_code == 405 and not response.get("Content-Type", "").startswith(JSON):
            response = wrong_method(request, response.get("Allow", ""))
        response.setdefault("Cache-Control", "no-store, private")
        response.setdefault("Permissions-Policy", FEATURES_OFF)
        return response


def _goes_to_sign_in(response: HttpResponse) -> bool:
    if response.status_code != 302:
        return False
    return urlsplit(response["Location"]).path == reverse("account_login")


def _sign_in_url(request: HttpRequest) -> str:
    """Return the sign-in page that leads back to the page the person is on, not to its part."""
    page = urlsplit(request.headers.get("HX-Current-URL", "")).path or "/"
    return f"{resolve_url('account_login')}?{urlencode({'next': page})}"
