"""An access token, and asking for one: what all who issue tokens have in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple, Protocol

import msgspec
from yarl import URL

from gateway.core.provider_connection import ConnectionSettings
from gateway.outbound.client import FAILURES
from gateway.outbound.guarded_sockets import TooLarge
from gateway.outbound.provider_check import Client

MAX_ANSWER_BYTES = 256 * 1024
LEAST_LIFE_S, MOST_LIFE_S = 30.0, 24 * 3600.0
_CODE = re.compile(r"[A-Za-z][A-Za-z0-9_.]{1,59}")


class Token(NamedTuple):
    """life_s: from the moment in which it was asked for."""

    value: str
    life_s: float


class TokenError(Exception):
    """Why there is no token: a sentence without addresses and secrets."""


class OpenClient(Protocol):
    """Makes the client that an address is reached by, for the running loop."""

    def __call__(self, url: str, proxy: ConnectionSettings | None, *, max_bytes: int) -> Client: ...


class TokenRequest(NamedTuple):
    """A POST to who issues tokens."""

    url: str
    content: bytes
    headers: Mapping[str, str]


class TokenReply(NamedTuple):
    status: int
    content: bytes


Send = Callable[[TokenRequest], "TokenReply"]


async def post(
    request: TokenRequest, open_client: OpenClient, proxy: ConnectionSettings | None
) -> TokenReply:
    """Return what answers, with any status. Raises TokenError."""
    try:
        client = open_client(request.url, proxy, max_bytes=MAX_ANSWER_BYTES)
        try:
            reply = await client.send(
                URL(request.url, encoded=True),
                method="POST",
                headers={"accept": "application/json", **request.headers},
                content=request.content,
            )
        finally:
            await client.aclose()
    except TooLarge:
        raise TokenError("the token endpoint sent too long an answer") from None
    except TimeoutError:
        raise
    except FAILURES:
        raise TokenError("the token endpoint cannot be reached") from None
    return TokenReply(reply.status, reply.content)


class _OAuthAnswer(msgspec.Struct):
    access_token: str
    expires_in: float | str


class _OAuthError(msgspec.Struct):
    error: str


def read_oauth(reply: TokenReply) -> Token:
    """Return the token of an OAuth 2.0 answer. Raises TokenError."""
    if reply.status != HTTPStatus.OK:
        raise TokenError(describe_refusal(reply))
    try:
        answer = msgspec.json.decode(reply.content, type=_OAuthAnswer)
        return read_token(answer.access_token, float(answer.expires_in))
    except (msgspec.DecodeError, UnicodeError, RecursionError, ValueError):
        raise TokenError("the token endpoint sent no token") from None


def read_token(value: str, life_s: float) -> Token:
    """Return a token that can be sent. Raises TokenError."""
    if not value or not (value.isascii() and value.isprintable()) or " " in value:
        raise TokenError("the token endpoint sent no token")
    if not life_s >= LEAST_LIFE_S:
        raise TokenError("the token endpoint sent a token that has expired")
    return Token(value, min(life_s, MOST_LIFE_S))


def describe_refusal(reply: TokenReply) -> str:
    """Return what a refusal says that cannot be a secret: its status, and the code of OAuth."""
    try:
        code = msgspec.json.decode(reply.content, type=_OAuthError).error
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        code = ""
    said = f" ({code})" if _CODE.fullmatch(code) else ""
    return f"the token endpoint answered {reply.status}{said}"
