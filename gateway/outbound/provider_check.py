"""Asks a provider whether it is there and takes our credential, at no cost: no call is made.

The list of models is asked for. Where a server has none, an empty call is sent, which every server
of OpenAI's dialect refuses before it computes anything. Messages are made of what we entered and of
numbers; nothing that the provider says is quoted, so none of it can hold the credential.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple, Protocol

import msgspec
from yarl import URL

from gateway.outbound.client import FAILURES, REDIRECTS, GuardedClient, Reply
from gateway.outbound.findings import Finding, Outcome, Way, describe_status
from gateway.outbound.guarded_sockets import Permits, TooLarge, look_up

CHECK_S = 7.0
# The longest list of models that is read: those of brokers are about 1 MB.
MAX_LIST_BYTES = 8 * 1024 * 1024
_REFUSED_EMPTY_CALL = {HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}
_KEY_REFUSED = {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
_NO_SUCH_PATH = {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED}


class _Model(msgspec.Struct):
    id: str


class _GoogleModel(msgspec.Struct):
    # models/gemini-2.5-flash
    name: str


class _Models(msgspec.Struct):
    """A list of OpenAI's, under data, or of Google's."""

    data: list[_Model] | None = None
    models: list[_GoogleModel] | None = None
    # Of Google's, where it goes on.
    next_page: str = msgspec.field(default="", name="nextPageToken")


_decode_models = msgspec.json.Decoder(_Models | list[_Model]).decode


def _read_models(content: bytes) -> tuple[frozenset[str], bool]:
    """Return the names in a list of models, and whether those are all. Raises msgspec.DecodeError
    for what is no such list."""
    found = _decode_models(content)
    if isinstance(found, list):
        return frozenset(each.id for each in found), True
    if found.data is not None:
        return frozenset(each.id for each in found.data), True
    if found.models is None:
        raise msgspec.ValidationError("There are no models.")
    names = frozenset(each.name.removeprefix("models/") for each in found.models)
    return names, not found.next_page


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
        return check.way.describe(error)
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
        self.way = Way(self._base)
        self._client: Client
        if other is None:
            self._client = GuardedClient(
                max_bytes=MAX_LIST_BYTES, look_up=self._look_up, permits=permits
            )
        else:
            self._client = other.make()
            self._is_resolved = True
            self.way = Way(self._base, other.proxy_url)

    async def run(self) -> Finding:
        if self._key_path:
            reply = await self._get(self._key_path)
            if _refuses_key(reply):
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
        if _refuses_key(reply):
            said = "The key was rejected" if self._has_secret else "The provider requires a key"
            return Finding(Outcome.KEY_REFUSED, f"{said}: it answered {describe_status(status)}.")
        if status in _NO_SUCH_PATH:
            asked = self._url(path).raw_path
            return Finding(
                Outcome.NOT_FOUND,
                f"No API at this path: {asked} answered {describe_status(status)}. "
                "Most base URLs end in /v1.",
            )
        if status in REDIRECTS:
            return Finding(
                Outcome.REDIRECT,
                f"The URL redirects ({describe_status(status)}), which calls do not follow. "
                "Enter the target URL instead.",
            )
        if status != HTTPStatus.OK:
            return Finding(Outcome.BAD_STATUS, f"The provider answered {describe_status(status)}.")
        try:
            names, are_all = _read_models(reply.content)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return Finding(
                Outcome.NOT_OPENAI,
                "The server responds, but not with OpenAI's API: "
                f"{self._url(path).raw_path} is not a list of models.",
            )
        return Finding(
            Outcome.REACHABLE,
            f"Reachable. It lists {len(names)} model{'' if len(names) == 1 else 's'}.",
            names if are_all else None,
        )

    def describe_timeout(self, check_s: float) -> Finding:
        if not self._is_resolved:
            message = f"The name {self._base.raw_host} was not resolved within {check_s:g} s (DNS)."
            return Finding(Outcome.DNS, message)
        return Finding(Outcome.TIMEOUT, f"No answer from {self.way.where} within {check_s:g} s.")

    def _look_up(self, host: str, port: int) -> list[str]:
        found = look_up(host, port)
        self._is_resolved = True
        return found

    def _url(self, path: str) -> URL:
        return URL(f"{self._base}{path}", encoded=True)


def _refuses_key(reply: Reply) -> bool:
    """Return whether the key is refused, which Google does with 400."""
    if reply.status == HTTPStatus.BAD_REQUEST:
        return b"API_KEY_INVALID" in reply.content
    return reply.status in _KEY_REFUSED
