"""Access tokens of Google's accounts: google-auth signs and reads, our guarded client asks.

https://googleapis.dev/python/google-auth/latest/reference/google.oauth2.service_account.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import google.auth.transport
import msgspec
from google.auth.exceptions import GoogleAuthError
from google.oauth2 import credentials, service_account

from gateway.core.credential_texts import GoogleAccount
from gateway.providers.credentials.token import (
    Token,
    TokenError,
    TokenReply,
    TokenRequest,
    describe_refusal,
    read_token,
)

SCOPES = ("https://www.googleapis.com/auth/cloud-platform",)


class _Response(google.auth.transport.Response):
    def __init__(self, reply: TokenReply) -> None:
        self._reply = reply

    @property
    def status(self) -> int:
        return self._reply.status

    @property
    def headers(self) -> Mapping[str, str]:
        return {}

    @property
    def data(self) -> bytes:
        return self._reply.content


class _Request(google.auth.transport.Request):
    """How google-auth asks: by ours. last: the answer that came last."""

    def __init__(self, send: Callable[[TokenRequest], TokenReply]) -> None:
        self.last: TokenReply | None = None
        self._send = send

    def __call__(
        self,
        url: str,
        method: str = "POST",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **kwargs: object,
    ) -> _Response:
        self.last = None
        self.last = self._send(TokenRequest(url, body or b"", headers or {}))
        return _Response(self.last)


def fetch(account: GoogleAccount, send: Callable[[TokenRequest], TokenReply]) -> Token:
    """Return a token. send: blocks until there is an answer, raises TokenError. Runs in a thread of
    its own: it signs, and waits. Raises TokenError."""
    request = _Request(send)
    try:
        found = _make(account)
        found.refresh(request)
    except (GoogleAuthError, ValueError, TypeError):
        if request.last is None:
            raise TokenError("the private key of the account cannot be used") from None
        if request.last.status != 200:
            raise TokenError(describe_refusal(request.last)) from None
        raise TokenError("the token endpoint sent no token") from None
    # google-auth keeps moments of UTC without their zone.
    now = datetime.now(UTC).replace(tzinfo=None)
    life_s = (found.expiry - now).total_seconds() if found.expiry else 0.0
    return read_token(found.token or "", life_s)


def _make(account: GoogleAccount) -> service_account.Credentials | credentials.Credentials:
    info = {name: value for name, value in msgspec.structs.asdict(account).items() if value}
    if account.type == "service_account":
        signer: service_account.Credentials
        signer = service_account.Credentials.from_service_account_info(info, scopes=SCOPES)
        return signer
    return credentials.Credentials(
        None,
        refresh_token=account.refresh_token,
        token_uri=account.token_uri,
        client_id=account.client_id,
        client_secret=account.client_secret,
    )
