"""Providers of Anthropic's models."""

from __future__ import annotations

from gateway.providers.catalogue.kind import ProviderKind
from gateway.providers.catalogue.vertex import VERTEX_ADDRESS, VERTEX_ADDRESSES, VERTEX_SETTINGS

KINDS = (
    ProviderKind(
        "anthropic",
        "Anthropic",
        "https://api.anthropic.com/v1",
        "ANTHROPIC_API_KEY",
        dialect="anthropic",
        takes_many_choices=False,
        key_header="x-api-key",
        headers=(("anthropic-version", "2023-06-01"),),
        chat_path="/messages",
    ),
    ProviderKind(
        "gcp_vertex_anthropic",
        "Anthropic on Vertex AI",
        VERTEX_ADDRESS,
        dialect="anthropic_vertex",
        serves="anthropic",
        credential="google",
        settings=VERTEX_SETTINGS,
        base_urls=VERTEX_ADDRESSES,
        takes_many_choices=False,
        chat_path="/publishers/anthropic/models/tollhouse.check:rawPredict",
    ),
)
