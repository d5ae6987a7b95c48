"""REST framework's authentication, which is the gateway's own admission."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from gateway.admission.bearer import has_no_credential
from gateway.api.mount import SCOPE_KEY, Inbound
from gateway.snapshot.caller import Caller


def inbound_of(request: Any) -> Inbound:
    """Return what the mount found out about this request (gateway.api.mount)."""
    inbound: Inbound = getattr(request, "_request", request).scope[SCOPE_KEY]
    return inbound


class KeyAuthentication(BaseAuthentication):
    """request.auth is the Caller. Raises the GatewayError with which admission refuses."""

    def authenticate(self, request: Request) -> tuple[None, Caller] | None:
        inbound = inbound_of(request)
        if inbound.error is not None:
            raise inbound.error
        assert inbound.caller is not None
        view = request.parser_context["view"]
        wider = getattr(view, "wider_scope", "")
        scope = wider if wider in inbound.caller.key.scopes else getattr(view, "scope", "")
        inbound.admission.screen(inbound.caller, inbound.head, scope)
        return None, inbound.caller

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class CatalogueAuthentication(KeyAuthentication):
    """The same, but where the catalogue is public, who shows no key at all is let in as nobody:
    request.auth is None then."""

    def authenticate(self, request: Request) -> tuple[None, Caller] | None:
        if settings.PUBLIC_MODEL_CATALOG and has_no_credential(inbound_of(request).head):
            return None
        return super().authenticate(request)
