"""Makes one real call, the smallest there is, and says in a sentence what came of it.

It goes out as calls do: by the adapter and the transport of its provider, with a token where tokens
are made of the credential. The provider counts it; here nobody is charged. What a provider says is
quoted only where it says what is wrong with the request, and without secrets.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus
from uuid import uuid4

import msgspec
from yarl import URL

from gateway.core.call import Call, CallFacts, Payload
from gateway.core.call_identity import CallIdentity
from gateway.core.chat import ChatRequest
from gateway.core.completions import CompletionsRequest
from gateway.core.embeddings import EmbeddingsRequest
from gateway.core.errors import (
    GatewayError,
    ProviderAuth,
    ProviderRateLimit,
    ProviderRejected,
    ProviderUnavailable,
)
from gateway.core.events import Answer
from gateway.core.grant import Grant
from gateway.core.moderations import ModerationsRequest
from gateway.core.money import Price
from gateway.core.rerank import RerankRequest
from gateway.outbound.client import REDIRECTS
from gateway.outbound.findings import Finding, Outcome, Way, describe_status
from gateway.providers.base import UpstreamRequest
from gateway.providers.credentials.making import TokenMaker
from gateway.providers.credentials.refreshed_token import NoToken
from gateway.providers.credentials.token import OpenClient
from gateway.providers.exchange import ProviderExchange
from gateway.providers.registry import adapter_of, has_adapter
from gateway.providers.transports.base import Transport, UpstreamResponse
from gateway.providers.transports.lookup import open_transports
from gateway.snapshot.credential import CredentialRecord
from gateway.snapshot.types import TargetRecord

CALL_S = 60.0
# Output tokens that are asked for, and those for models that refuse to give so few.
LEAST_TOKENS, MORE_TOKENS = 1, 16
PROMPT = "Hi"
_FREE = Price(0, 0, 0)
_encode = msgspec.json.encode
_LIMIT = re.compile(r"max_?(completion_|output_|new_)?tokens|output limit", re.I)
# The limit was reached before there was any text: the model has worked.
_LIMIT_REACHED = re.compile(r"(limit|tokens) (was |were )?(reached|exceeded)", re.I)
_QUOTA = re.compile(
    r"insufficient.{0,12}(quota|balance|credit|fund)|current quota|credit balance|out of credit"
    r"|billing",
    re.I,
)
_MODEL = re.compile(r"\b(model|deployment)", re.I)
# In the message of a refusal, and as the code that stands beside it.
_NO_MODEL = re.compile(
    r"(model|deployment|endpoint)\b.{0,100}?(not (found|exist|supported|available|valid)"
    r"|n.t exist|is invalid|unknown)|(invalid|unknown|no such|not a valid) (model|deployment)",
    re.I | re.S,
)
_NO_MODEL_CODE = re.compile(r"(model|deployment)_?not_?found", re.I)


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCheck:
    """What is asked for, and how it gets there."""

    # With the secret, where there is no `credential`.
    target: TargetRecord
    operation: str = "chat"
    credential: CredentialRecord | None = None
    proxy_url: str = ""
    # By which the makers of tokens are reached.
    open_client: OpenClient
    connect_s: float
    takes_link_local: bool = False
    call_s: float = CALL_S


def can_check(operation: str, kind: str) -> bool:
    """Return whether a model for the operation can be tested: one image costs too much for that."""
    return operation in _PAYLOADS and has_adapter(operation, kind)


async def check_by_call(check: CallCheck) -> Finding:
    """Return what came of the call, after call_s at the latest. Never raises for what is there."""
    target = check.target
    way = Way(URL(target.base_url, encoded=True), check.proxy_url)
    transports = open_transports(
        connect_s=check.connect_s, takes_link_local=check.takes_link_local, retries=0
    )
    token = None
    if check.credential is not None:
        token = TokenMaker(check.open_client, _note_nothing).make(check.credential)
        target = replace(target, secret=check.credential.secret)
    try:
        async with asyncio.timeout(check.call_s):
            if token is not None:
                target = replace(target, secret=await token.wait())
            return await _CallOnce(
                check.operation, target, transports.for_target(target), way
            ).run()
    except NoToken as error:
        return Finding(Outcome.NO_ACCESS, error.message)
    except TimeoutError:
        return Finding(Outcome.TIMEOUT, f"No answer from {way.where} within {check.call_s:g} s.")
    finally:
        if token is not None:
            token.close()
        await transports.aclose()


class NotedTransport:
    """Another transport; it keeps where the last request went and the status of the answer, 0
    where there was none."""

    def __init__(self, transport: Transport) -> None:
        self.status = 0
        self.url = ""
        self._transport = transport

    async def open(self, request: UpstreamRequest) -> UpstreamResponse:
        self.status, self.url = 0, request.url
        response = await self._transport.open(request)
        self.status = response.status
        return response

    async def aclose(self) -> None:
        await self._transport.aclose()


class _CallOnce:
    """One test of one target."""

    def __init__(
        self, operation: str, target: TargetRecord, transport: Transport, way: Way
    ) -> None:
        self._operation = operation
        self._target = target
        self._transport = NotedTransport(transport)
        self._way = way

    async def run(self) -> Finding:
        began_at = time.monotonic()
        try:
            answer = await self._ask_twice()
        except GatewayError as error:
            return self._describe(error)
        usage, took_s = answer.usage, time.monotonic() - began_at
        used = 0 if usage is None else usage.prompt_tokens + usage.completion_tokens
        counted = f" It used {used:,} token{'' if used == 1 else 's'}." if used else ""
        time_taken = f"{took_s:.1f} s" if took_s >= 1 else f"{took_s * 1000:.0f} ms"
        return self._served(f" after {time_taken}.{counted}")

    async def _ask_twice(self) -> Answer:
        """Return the answer, that of a second time where the limit was too low. Raises
        GatewayError."""
        try:
            return await self._ask(LEAST_TOKENS)
        except ProviderRejected as error:
            if not _LIMIT.search(error.message) or _LIMIT_REACHED.search(error.message):
                raise
        return await self._ask(MORE_TOKENS)

    async def _ask(self, tokens: int) -> Answer:
        """Return the answer. Raises GatewayError."""
        target = self._target
        facts = CallFacts(
            model=target.native_model,
            stream=False,
            user="",
            episode_id="",
            idempotency_key="",
            requires_parameters=False,
            body=b"",
        )
        call = Call(facts, _PAYLOADS[self._operation](target.native_model, tokens))
        adapter = adapter_of(self._operation, target.kind)
        grant = Grant(
            identity=CallIdentity(call_id=str(uuid4()), workspace_id="", key_id="", at=time.time()),
            model=target.native_model,
            price=_FREE,
            hold_nusd=0,
            limit_tokens=tokens,
            cap_tokens=tokens,
            dropped_params=tuple(sorted(adapter.check(call, target))),
        )
        request = adapter.build_request(call, grant, target)
        return await ProviderExchange(adapter, self._transport, request).read()

    def _served(self, rest: str) -> Finding:
        return Finding(Outcome.SERVED, f"{self._model} answered{rest}")

    @property
    def _model(self) -> str:
        return self._target.native_model[:100]

    def _describe(self, error: GatewayError) -> Finding:
        """Return what the call failed with."""
        status = self._transport.status
        if not status:
            return self._describe_way(error)
        words = f"{error.quote} {error.message}"
        answered = f"the provider answered {describe_status(status)}"
        if status == HTTPStatus.PAYMENT_REQUIRED or _QUOTA.search(words):
            return Finding(
                Outcome.QUOTA,
                "The credential is accepted, but its quota is used up or its account has no "
                f"credit: {answered}.",
            )
        if isinstance(error, ProviderRateLimit):
            return Finding(
                Outcome.QUOTA,
                f"The credential is accepted, but its rate limit is exceeded: {answered}. Try "
                f"again in {error.retry_after_s or 1:g} s.",
            )
        if isinstance(error, ProviderAuth):
            return self._describe_refusal(status, words, answered)
        if isinstance(error, ProviderRejected):
            return self._describe_rejection(error, status, words, answered)
        return self._describe_status(error, status, answered)

    def _describe_status(self, error: GatewayError, status: int, answered: str) -> Finding:
        """Return what is said where the status says all there is."""
        if status in REDIRECTS:
            return Finding(
                Outcome.REDIRECT,
                f"The URL redirects ({describe_status(status)}), which calls do not follow. Enter "
                "the target URL instead.",
            )
        if status == HTTPStatus.OK:
            return Finding(
                Outcome.BAD_ANSWER,
                "The server responds, but not like this kind of provider. Check the base URL "
                "and the kind.",
            )
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            return self._no_such_path(status)
        if isinstance(error, ProviderUnavailable) or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return Finding(Outcome.BAD_STATUS, f"The call failed: {answered}.")
        return Finding(Outcome.REJECTED, error.message)

    def _describe_way(self, error: GatewayError) -> Finding:
        """Return why there was no answer."""
        if isinstance(error, ProviderUnavailable) and isinstance(error.__cause__, Exception):
            return self._way.describe(error.__cause__)
        if isinstance(error, ProviderAuth):
            return Finding(Outcome.KEY_REFUSED, error.message)
        return Finding(Outcome.REJECTED, error.message)

    def _describe_refusal(self, status: int, words: str, answered: str) -> Finding:
        if status == HTTPStatus.FORBIDDEN and _MODEL.search(words):
            return self._unknown_model(answered)
        if not self._target.secret:
            return Finding(Outcome.KEY_REFUSED, f"The provider requires a credential: {answered}.")
        return Finding(Outcome.KEY_REFUSED, f"The credential was rejected: {answered}.")

    def _describe_rejection(
        self, error: ProviderRejected, status: int, words: str, answered: str
    ) -> Finding:
        if _LIMIT.search(words) and _LIMIT_REACHED.search(words):
            return self._served(", with no text yet at the limit of this test.")
        is_missing = status == HTTPStatus.NOT_FOUND
        if (
            _NO_MODEL.search(error.message)
            or _NO_MODEL_CODE.search(error.quote)
            or (is_missing and self._target.native_model in error.quote)
        ):
            return self._unknown_model(answered)
        if is_missing:
            return self._no_such_path(status)
        return Finding(Outcome.REJECTED, error.message)

    def _unknown_model(self, answered: str) -> Finding:
        return Finding(
            Outcome.UNKNOWN_MODEL,
            f"The provider has no model {self._model}, or this credential may not use it: "
            f"{answered}.",
        )

    def _no_such_path(self, status: int) -> Finding:
        path = URL(self._transport.url, encoded=True).raw_path
        return Finding(
            Outcome.NOT_FOUND,
            f"No API at this path: {path} answered {describe_status(status)}. Check the base URL.",
        )


def _note_nothing(credential_id: str, rest_s: float, code: str, message: str) -> None:
    """What becomes of a token that was made for a test is nobody's news."""


def _chat(model: str, tokens: int) -> Payload:
    messages = [{"role": "user", "content": PROMPT}]
    fields = {"model": model, "messages": messages, "max_tokens": tokens}
    return ChatRequest(fields=_raw(fields), messages=(), max_tokens=tokens)


def _completions(model: str, tokens: int) -> Payload:
    fields = {"model": model, "prompt": PROMPT, "max_tokens": tokens}
    return CompletionsRequest(fields=_raw(fields), texts=(PROMPT,), max_tokens=tokens)


def _embeddings(model: str, tokens: int) -> Payload:
    return EmbeddingsRequest(fields=_raw({"model": model, "input": PROMPT}), texts=(PROMPT,))


def _moderations(model: str, tokens: int) -> Payload:
    return ModerationsRequest(fields=_raw({"model": model, "input": PROMPT}), texts=(PROMPT,))


def _rerank(model: str, tokens: int) -> Payload:
    fields = {"model": model, "query": PROMPT, "documents": [PROMPT]}
    return RerankRequest(fields=_raw(fields), query=PROMPT, documents=(PROMPT,), top_n=1)


def _raw(fields: Mapping[str, object]) -> dict[str, bytes]:
    return {name: _encode(value) for name, value in fields.items()}


# What is asked for of each operation, with so many output tokens at most.
_PAYLOADS: dict[str, Callable[[str, int], Payload]] = {
    "chat": _chat,
    "completions": _completions,
    "embeddings": _embeddings,
    "moderations": _moderations,
    "rerank": _rerank,
}
