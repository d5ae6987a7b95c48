"""Providers of Google's models."""

from __future__ import annotations

from gateway.providers.catalogue.kind import ProviderKind
from gateway.providers.catalogue.vertex import VERTEX_ADDRESS, VERTEX_ADDRESSES, VERTEX_SETTINGS

KINDS = (
    ProviderKind(
        "google_ai_studio_gemini",
        "Google AI Studio (Gemini)",
        "https://generativelanguage.googleapis.com/v1beta",
        "GEMINI_API_KEY",
        other_env_vars=("GOOGLE_API_KEY",),
        dialect="gemini",
        key_header="x-goog-api-key",
        chat_path="/models/tollhouse.check:generateContent",
    ),
    ProviderKind(
        "gcp_vertex_gemini",
        "Gemini on Vertex AI",
        VERTEX_ADDRESS,
        dialect="gemini",
        credential="google",
        settings=VERTEX_SETTINGS,
        base_urls=VERTEX_ADDRESSES,
        chat_path="/publishers/google/models/tollhouse.check:generateContent",
    ),
)
