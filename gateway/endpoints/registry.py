"""Every endpoint that calls models. An endpoint is a folder and a row here."""

from __future__ import annotations

from typing import Protocol

from gateway.core.mounts import MOUNTS
from gateway.endpoints.base import AnyEndpoint, AnyTokenCounter
from gateway.endpoints.chat_completions.endpoint import ChatCompletions
from gateway.endpoints.completions.endpoint import Completions
from gateway.endpoints.embeddings.endpoint import Embeddings
from gateway.endpoints.images.endpoint import Images
from gateway.endpoints.messages.count_tokens import CountTokens
from gateway.endpoints.messages.endpoint import Messages
from gateway.endpoints.moderations.endpoint import Moderations
from gateway.endpoints.rerank.endpoint import Rerank
from gateway.endpoints.responses.count_tokens import CountInputTokens
from gateway.endpoints.responses.endpoint import Responses
from gateway.endpoints.rules import Rules
from gateway.endpoints.speech.endpoint import Speech
from gateway.endpoints.transcriptions.endpoint import Transcriptions, Translations
from gateway.http.api_format import OPENAI, ApiFormat


class EndpointClass(Protocol):
    """Makes an endpoint that keeps to the installation's rules."""

    @property
    def name(self) -> str: ...

    @property
    def paths(self) -> tuple[str, ...]: ...

    @property
    def api_format(self) -> ApiFormat: ...

    def __call__(self, rules: Rules) -> AnyEndpoint: ...


ENDPOINTS: list[EndpointClass] = [
    ChatCompletions,
    Completions,
    Embeddings,
    Images,
    Messages,
    Moderations,
    Rerank,
    Responses,
    Speech,
    Transcriptions,
    Translations,
]


TOKEN_COUNTERS: list[type[CountTokens] | type[CountInputTokens]] = [
    CountTokens,
    CountInputTokens,
]


def make_endpoints(rules: Rules) -> list[AnyEndpoint]:
    """Return one of each."""
    return [make(rules) for make in ENDPOINTS]


def make_token_counters(rules: Rules) -> list[AnyTokenCounter]:
    """Return one of each."""
    return [make(rules) for make in TOKEN_COUNTERS]


def call_paths() -> tuple[str, ...]:
    """Return the paths of all endpoints that call models, under every mount."""
    return tuple(path for one in ENDPOINTS for path in one.paths)


def body_paths() -> tuple[str, ...]:
    """Return the paths of everything that reads the body of a call, under every mount."""
    return (*call_paths(), *(path for one in TOKEN_COUNTERS for path in one.paths))


def api_format_at(path: str) -> ApiFormat:
    """Return the format of the endpoint at a path, OpenAI's where there is none."""
    served: list[EndpointClass] = [*ENDPOINTS, *TOKEN_COUNTERS]
    for one in served:
        if path.endswith(tuple(f"/{own}" for own in one.paths)):
            return one.api_format
    return OPENAI


def api_format_meant_by(path: str) -> ApiFormat:
    """Return the format of the endpoint that is named in the path of none."""
    named = (one for one in ENDPOINTS if any(f"/{own}/" in f"{path}/" for own in one.paths))
    return next((one.api_format for one in named), OPENAI)


def call_targets() -> frozenset[bytes]:
    """Return the usual targets of calls, as they stand in the request line."""
    return frozenset(f"{mount}/{path}".encode() for mount in MOUNTS for path in body_paths())
