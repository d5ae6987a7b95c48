"""Which adapter translates which operation to which dialect.

Providers are rows of gateway.providers.catalogue, which name their dialect.
"""

from __future__ import annotations

from functools import lru_cache

from gateway.providers.anthropic.chat import AnthropicChat
from gateway.providers.base import AnyAdapter
from gateway.providers.catalogue import BY_NAME
from gateway.providers.openai_compatible.chat import OpenAIChat
from gateway.providers.openai_compatible.embeddings import OpenAIEmbeddings

# (operation, dialect) → adapter.
ADAPTERS: dict[tuple[str, str], AnyAdapter] = {
    ("chat", "anthropic"): AnthropicChat(),
    ("chat", "openai"): OpenAIChat(),
    ("embeddings", "openai"): OpenAIEmbeddings(),
}


def adapter_of(operation: str, kind: str) -> AnyAdapter:
    """Return the adapter for calls to a kind of provider. Raises KeyError when there is none."""
    return ADAPTERS[operation, BY_NAME[kind].dialect]


def has_adapter(operation: str, kind: str) -> bool:
    """True when calls of the operation can be translated for this kind of provider."""
    return (operation, BY_NAME[kind].dialect) in ADAPTERS


def operations() -> list[str]:
    """Return every operation that some provider can be asked for."""
    return sorted({operation for operation, _ in ADAPTERS})


@lru_cache(maxsize=1024)
def supported_by_all(operation: str, kinds: tuple[str, ...]) -> frozenset[str]:
    """Return the fields that providers of all these kinds take: a call with nothing else needs no
    further look. Empty where one of them has no adapter."""
    if not kinds or not all(has_adapter(operation, kind) for kind in kinds):
        return frozenset()
    return frozenset.intersection(*[adapter_of(operation, kind).supported for kind in kinds])
