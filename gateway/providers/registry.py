"""Which adapter speaks which dialect. Kinds of provider are rows of gateway.core.provider_kinds."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.core.provider_kinds import BY_NAME
from gateway.providers.base import Provider
from gateway.providers.openai_compatible import OpenAICompatible

BY_DIALECT: Mapping[str, Provider] = {"openai": OpenAICompatible()}


def adapter_of(kind: str) -> Provider:
    """Return the adapter for a kind of provider. Raises KeyError for a kind we do not know."""
    return BY_DIALECT[BY_NAME[kind].dialect]
