"""Cohere. Its list of models is another version's, at another address."""

from __future__ import annotations

from gateway.providers.catalogue.kind import ProviderKind, paths

KINDS = (
    # https://docs.cohere.com/v2/reference/chat
    ProviderKind(
        "cohere",
        "Cohere",
        "https://api.cohere.com/v2",
        "COHERE_API_KEY",
        dialect="cohere",
        takes_many_choices=False,
        chat_path="/chat",
        paths=paths("rerank"),
    ),
)
