"""What django-allauth asks us about accounts: nobody signs up by themselves, no mail is sent, and
wrong passwords make the subnet wait that they come from."""

from __future__ import annotations

from math import ceil

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core.exceptions import ImmediateHttpResponse
from allauth.core.internal.ratelimit import respond_429
from django.http import HttpRequest

from accounts.sign_in_throttle import throttle

MAX_ACCOUNT_CHARS = 320


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc] # allauth ships no types
    """People are invited by others, and an installation need not have a mail server."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False

    def send_mail(self, template_prefix: str, email: str, context: dict[str, object]) -> None:
        """Send nothing: whatever would be mailed is done by an operator's command instead."""

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return what gateway.web.client_address found out, for the limits of django-allauth."""
        return str(request.META["REMOTE_ADDR"])

    def pre_authenticate(self, request: HttpRequest, **credentials: object) -> None:
        """Count a password, before it is looked at. django-allauth would count by account alone:
        whoever knows an address could keep its owner out."""
        wait_s = throttle.begin(subnet_of(request), account_of(credentials))
        if wait_s:
            response = respond_429(request)
            response["Retry-After"] = str(ceil(wait_s))
            raise ImmediateHttpResponse(response)

    def authenticate(self, request: HttpRequest, **credentials: object) -> object:
        user = super().authenticate(request, **credentials)
        if user is not None:
            throttle.succeed(subnet_of(request), account_of(credentials))
        return user


def subnet_of(request: HttpRequest) -> str:
    return str(getattr(request, "client_subnet", request.META.get("REMOTE_ADDR", "")))


def account_of(credentials: dict[str, object]) -> str:
    return str(credentials.get("email") or credentials.get("username") or "?")[
        :MAX_ACCOUNT_CHARS
    ].lower()
