"""Asks a provider whether it is there and takes our credential, at no cost: no call is made.

The list of models is asked for. Where a server has none, an empty call is sent, which every server
of OpenAI's dialect refuses before it computes anything. Messages are made of what we entered and of
numbers; nothing that the provider says is quoted, so none of it can hold the credential.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus
from typing import NamedTuple, Protocol

import msgspec
from yarl import URL

from gateway.outbound.client import FAILURES, REDIRECTS, GuardedClient, Reply
from gateway.outbound.guarded_sockets import NotPermitted, Permits, TooLarge, look_up
from gateway.outbound.proxies import ProxyRefused

CHECK_S = 7.0
# The longest list of models that is read: those of brokers are about 1 MB.
MAX_LIST_BYTES = 8 * 1024 * 1024
_NO_ROUTE = {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTDOWN}
_REFUSED_EMPTY_CALL = {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}
_KEY_REFUSED = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
_NO_SUCH_PATH = {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}


class Outcome(StrEnum):
    """What came of a check."""

    REACHABLE = "reachable"
    DNS = "dns"
    REFUSED = "connection_refused"
    NO_ROUTE = "no_route"
    TLS = "tls"
    PROXY_REFUSED = "proxy_refused"
    TIMEOUT = "timeout"
    NOT_HTTP = "not_http"
    NOT_PERMITTED = "not_permitted"
    KEY_REFUSED = "key_refused"
    NOT_FOUND = "not_found"
    REDIRECT = "redirect"
    NOT_OPENAI = "not_openai"
    BAD_STATUS = "bad_status"
    NO_CREDENTIAL = "credential_unreadable"


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome, a sentence for people, and the provider's names for its models where it has a
    list of them."""

    outcome: Outcome
    message: str
    models: frozenset[str] | None = None

    @property
    def is_reachable(self) -> bool:
        return self.outcome is Outcome.REACHABLE


class _Model(msgspec.Struct):
    id: str


class _Models(msgspec.Struct):
    data: list[_Model]


_read_models = msgspec.json.Decoder(_Models | list[_Model]).decode


class Access(Protocol):
    """What a check has to know of a kind of provider (gateway.providers.catalogue)."""

    @property
    def key_path(self) -> str: ...

    @property
    def chat_path(self) -> str: ...

    def headers_with(self, secret: str) -> dict[str, str]: ...


class Client(Protocol):
    """What requests are sent by."""

    async def send(
        self, url: URL, *, method: str, headers: Mapping[str, str], content: bytes = b""
    ) -> Reply: ...

    async def aclose(self) -> None: ...


class OtherClient(NamedTuple):
    """make: returns a client, instead of the guarded one. proxy_url: what it connects to; empty
    for the provider itself."""

    make: Callable[[], Client]
    proxy_url: str


async def check_provider(
    base_url: str,
    access: Access,
    *,
    secret: str,
    permits: Permits,
    check_s: float = CHECK_S,
    other: OtherClient | None = None,
) -> Finding:
    """Return what is found at a provider's address, after check_s at the latest. Never raises for
    what is there. secret: empty for none."""
    check = _Check(base_url, access, secret, permits, other)
    try:
        async with asyncio.timeout(check_s):
            return await check.run()
    except TimeoutError:
        return check.describe_timeout(check_s)
    except TooLarge:
        return Finding(Outcome.NOT_OPENAI, "The response is too long for a list of models.")
    except FAILURES as error:
        return check.describe(error)
    finally:
        await check.aclose()


class _Check:
    """One check of one address."""

    def __init__(
        self,
        base_url: str,
        access: Access,
        secret: str,
        permits: Permits,
        other: OtherClient | None,
    ) -> None:
        scheme, _, rest = base_url.partition("://")
        host, slash, path = rest.partition("/")
        self._base = URL(f"{scheme}://{host.lower()}{slash}{path}", encoded=True)
        self._headers = {"accept": "application/json", **access.headers_with(secret)}
        self._key_path = access.key_path if secret else ""
        self._chat_path = access.chat_path
        self._has_secret = bool(secret)
        self._is_resolved = False
        self._dialled = self._base
        self._client: Client
        if other is None:
            self._client = GuardedClient(
                max_bytes=MAX_LIST_BYTES, look_up=self._look_up, permits=permits
            )
        else:
            self._client = other.make()
            self._is_resolved = True
            if other.proxy_url:
                self._dialled = URL(other.proxy_url, encoded=True)

    async def run(self) -> Finding:
        if self._key_path:
            reply = await self._get(self._key_path)
            if reply.status in _KEY_REFUSED:
                return self._judge(reply, self._key_path)
        reply = await self._get("/models")
        if reply.status in _NO_SUCH_PATH:
            return await self._run_without_list(reply)
        return self._judge(reply, "/models")

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _get(self, path: str) -> Reply:
        return await self._client.send(self._url(path), method="GET", headers=self._headers)

    async def _run_without_list(self, first: Reply) -> Finding:
        headers = self._headers | {"content-type": "application/json"}
        url = self._url(self._chat_path)
        reply = await self._client.send(url, method="POST", headers=headers, content=b"{}")
        if reply.status in _REFUSED_EMPTY_CALL:
            return Finding(Outcome.REACHABLE, "Reachable. It has no list of models.")
        return self._judge(first if reply.status in _NO_SUCH_PATH else reply, "/models")

    def _judge(self, reply: Reply, path: str) -> Finding:
        """Return what an answer to a GET says."""
        status = reply.status
        if status in _KEY_REFUSED:
            said = "The key was rejected" if self._has_secret else "The provider requires a key"
            return Finding(Outcome.KEY_REFUSED, f"{said}: it answered {_status(status)}.")
        if status in _NO_SUCH_PATH:
            asked = self._url(path).raw_path
            return Finding(
                Outcome.NOT_FOUND,
                f"No API at this path: {asked} answered {_status(status)}. "
                "Most base URLs end in /v1.",
            )
        if status in REDIRECTS:
            return Finding(
                Outcome.REDIRECT,
                f"The URL redirects ({_status(status)}), which calls do not follow. "
                "Enter the target URL instead.",
            )
        if status != HTTPStatus.OK:
            return Finding(Outcome.BAD_STATUS, f"The provider answered {_status(status)}.")
        try:
            found = _read_models(reply.content)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return Finding(
                Outcome.NOT_OPENAI,
                "Something answers here, but not with OpenAI's API: "
                f"{self._url(path).raw_path} is no list of models.",
            )
        names = frozenset(each.id for each in (found if isinstance(found, list) else found.data))
        return Finding(
            Outcome.REACHABLE,
            f"Reachable. It lists {len(names)} model{'' if len(names) == 1 else 's'}.",
            names,
        )

    def describe(self, error: Exception) -> Finding:
        """Return what went wrong before there was an answer."""
        where, name = self._where, self._dialled.raw_host
        for cause in _causes(error):
            match cause:
                case ProxyRefused():
                    said = f"{where} refused the connection: it answered {_status(cause.status)}."
                    outcome = Outcome.PROXY_REFUSED
                case ssl.SSLCertVerificationError():
                    said = f"The TLS certificate is not valid: {cause.verify_message}."
                    outcome = Outcome.TLS
                case ssl.SSLError():
                    place = f"{self._base.raw_host}, port {self._base.port}"
                    said = f"No TLS connection with {place}. Should the URL begin with http://?"
                    outcome = Outcome.TLS
                case NotPermitted():
                    said = f"The gateway may not connect to {where}: link-local or metadata."
                    outcome = Outcome.NOT_PERMITTED
                case socket.gaierror():
                    said, outcome = f"The name {name} does not resolve (DNS).", Outcome.DNS
                case ConnectionRefusedError():
                    said = f"Connection refused: nothing listens at {where}."
                    outcome = Outcome.REFUSED
                case OSError() if cause.errno in _NO_ROUTE:
                    said, outcome = f"There is no route to {where}.", Outcome.NO_ROUTE
                case TimeoutError():
                    said, outcome = f"{where} does not answer: timed out.", Outcome.TIMEOUT
                case _:
                    continue
            return Finding(outcome, said)
        said = f"{where} closed the connection without an HTTP answer."
        return Finding(Outcome.NOT_HTTP, said)

    def describe_timeout(self, check_s: float) -> Finding:
        if not self._is_resolved:
            message = f"The name {self._base.raw_host} was not resolved within {check_s:g} s (DNS)."
            return Finding(Outcome.DNS, message)
        return Finding(Outcome.TIMEOUT, f"No answer from {self._where} within {check_s:g} s.")

    def _look_up(self, host: str, port: int) -> list[str]:
        found = look_up(host, port)
        self._is_resolved = True
        return found

    def _url(self, path: str) -> URL:
        return URL(f"{self._base}{path}", encoded=True)

    @property
    def _where(self) -> str:
        place = f"{self._dialled.raw_host}, port {self._dialled.port}"
        return place if self._dialled is self._base else f"the proxy {place}"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error and what it came from, the last first told."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        else:
            error = error.__cause__ or error.__context__


def _status(status: int) -> str:
    try:
        return f"{status} ({HTTPStatus(status).phrase})"
    except ValueError:
        return str(status)
