"""Every endpoint that calls models. An endpoint is a folder and a row here."""

from __future__ import annotations

from typing import Protocol

from gateway.core.mounts import MOUNTS
from gateway.endpoints.base import AnyEndpoint
from gateway.endpoints.chat_completions.endpoint import ChatCompletions
from gateway.endpoints.embeddings.endpoint import Embeddings
from gateway.endpoints.rules import Rules


class EndpointClass(Protocol):
    """Makes an endpoint that keeps to the installation's rules."""

    @property
    def name(self) -> str: ...

    @property
    def paths(self) -> tuple[str, ...]: ...

    def __call__(self, rules: Rules) -> AnyEndpoint: ...


ENDPOINTS: list[EndpointClass] = [ChatCompletions, Embeddings]


def make_endpoints(rules: Rules) -> list[AnyEndpoint]:
    """Return one of each."""
    return [make(rules) for make in ENDPOINTS]


def call_paths() -> tuple[str, ...]:
    """Return the paths of all endpoints that call models, under every mount."""
    return tuple(path for one in ENDPOINTS for path in one.paths)


def call_targets() -> frozenset[bytes]:
    """Return the usual targets of calls, as they stand in the request line."""
    return frozenset(f"{mount}/{path}".encode() for mount in MOUNTS for path in call_paths())
