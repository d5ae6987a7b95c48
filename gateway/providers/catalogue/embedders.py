"""Providers of embeddings and rankings alone: they have no chat."""

from __future__ import annotations

from gateway.providers.catalogue.kind import ProviderKind, paths

KINDS = (
    # https://docs.voyageai.com/reference/embeddings-api
    # https://docs.voyageai.com/reference/reranker-api
    ProviderKind(
        "voyage",
        "Voyage AI",
        "https://api.voyageai.com/v1",
        "VOYAGE_API_KEY",
        dialect="voyage",
        renames=(("dimensions", "output_dimension"),),
        drops=frozenset({"user"}),
        takes_token_ids=False,
        most_inputs=1000,
        chat_path="/embeddings",
        paths=paths("rerank"),
    ),
    # https://api.jina.ai/redoc
    ProviderKind(
        "jina",
        "Jina AI",
        "https://api.jina.ai/v1",
        "JINA_API_KEY",
        dialect="jina",
        drops=frozenset({"user"}),
        takes_token_ids=False,
        chat_path="/embeddings",
        paths=paths("rerank"),
    ),
    # https://huggingface.github.io/text-embeddings-inference/
    # https://huggingface.co/docs/text-embeddings-inference/cli_arguments: --max-client-batch-size
    ProviderKind(
        "tei",
        "Text Embeddings Inference",
        "http://127.0.0.1:8080/v1",
        dialect="tei",
        needs_credential=False,
        takes_base64=True,
        most_inputs=32,
        chat_path="/embeddings",
        paths={"rerank": "../rerank"},
    ),
)
