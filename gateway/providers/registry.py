"""Which adapter speaks which dialect. Kinds of provider are rows of gateway.providers.catalogue."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.providers.base import Provider
from gateway.providers.catalogue import BY_NAME
from gateway.providers.openai_compatible.chat import OpenAICompatible

BY_DIALECT: Mapping[str, Provider] = {"openai": OpenAICompatible()}


def adapter_of(kind: str) -> Provider:
    """Return the adapter for a kind of provider. Raises KeyError for a kind we do not know."""
    return BY_DIALECT[BY_NAME[kind].dialect]
