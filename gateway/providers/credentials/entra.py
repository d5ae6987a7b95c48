"""Tokens of Microsoft Entra ID, by client credentials.

https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-client-creds-grant-flow
"""

from __future__ import annotations

from urllib.parse import urlencode

from gateway.core.credential_texts import EntraApp
from gateway.providers.credentials.token import TokenRequest


def write_request(app: EntraApp) -> TokenRequest:
    """Return what asks for a token."""
    form = {
        "grant_type": "client_credentials",
        "client_id": app.client_id,
        "client_secret": app.client_secret,
        "scope": app.scope,
    }
    return TokenRequest(
        f"{app.authority.rstrip('/')}/{app.tenant_id}/oauth2/v2.0/token",
        urlencode(form).encode(),
        {"content-type": "application/x-www-form-urlencoded"},
    )
