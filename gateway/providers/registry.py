"""Which adapter translates which operation to which dialect.

Providers are rows of gateway.providers.catalogue, which name their dialect.
"""

from __future__ import annotations

from functools import lru_cache

from gateway.providers.anthropic.chat import AnthropicChat
from gateway.providers.anthropic.vertex import VertexAnthropicChat
from gateway.providers.base import AnyAdapter
from gateway.providers.bedrock.anthropic import BedrockAnthropicChat
from gateway.providers.bedrock.chat import BedrockChat
from gateway.providers.bedrock.embeddings import BedrockEmbeddings
from gateway.providers.bedrock.rerank import BedrockRerank
from gateway.providers.catalogue import BY_NAME
from gateway.providers.cohere.chat import CohereChat
from gateway.providers.cohere.embeddings import CohereEmbeddings
from gateway.providers.cohere.rerank import CohereRerank
from gateway.providers.completions_by_chat import CompletionsByChat
from gateway.providers.gemini.chat import GeminiChat
from gateway.providers.gemini.embeddings import GeminiEmbeddings
from gateway.providers.jina.rerank import JinaRerank
from gateway.providers.openai_compatible.chat import OpenAIChat
from gateway.providers.openai_compatible.completions import OpenAICompletions
from gateway.providers.openai_compatible.embeddings import OpenAIEmbeddings
from gateway.providers.openai_compatible.images import OpenAIImages
from gateway.providers.openai_compatible.moderations import OpenAIModerations
from gateway.providers.openai_compatible.rerank import OpenAIRerank
from gateway.providers.openai_compatible.speech import OpenAISpeech
from gateway.providers.openai_compatible.transcriptions import OpenAITranscriptions
from gateway.providers.sagemaker.chat import SageMakerChat
from gateway.providers.tei.rerank import TeiRerank
from gateway.providers.tgi.chat import TgiChat
from gateway.providers.voyage.rerank import VoyageRerank

# (operation, dialect) → adapter.
ADAPTERS: dict[tuple[str, str], AnyAdapter] = {
    ("chat", "anthropic"): AnthropicChat(),
    ("chat", "anthropic_bedrock"): BedrockAnthropicChat(),
    ("chat", "anthropic_vertex"): VertexAnthropicChat(),
    ("chat", "bedrock"): BedrockChat(),
    ("chat", "cohere"): CohereChat(),
    ("chat", "gemini"): GeminiChat(),
    ("chat", "openai"): OpenAIChat(),
    ("completions", "openai"): OpenAICompletions(OpenAIChat()),
    ("chat", "sagemaker"): SageMakerChat(),
    ("chat", "tgi"): TgiChat(),
    ("embeddings", "bedrock"): BedrockEmbeddings(),
    ("embeddings", "cohere"): CohereEmbeddings(),
    ("embeddings", "gemini"): GeminiEmbeddings(),
    ("embeddings", "jina"): OpenAIEmbeddings(),
    ("embeddings", "openai"): OpenAIEmbeddings(),
    ("embeddings", "tei"): OpenAIEmbeddings(),
    ("embeddings", "voyage"): OpenAIEmbeddings(),
    ("images", "openai"): OpenAIImages(),
    ("moderations", "openai"): OpenAIModerations(),
    ("rerank", "bedrock"): BedrockRerank(),
    ("rerank", "cohere"): CohereRerank(),
    ("rerank", "jina"): JinaRerank(),
    ("rerank", "openai"): OpenAIRerank(),
    ("rerank", "tei"): TeiRerank(),
    ("rerank", "voyage"): VoyageRerank(),
    ("speech", "openai"): OpenAISpeech(),
    ("transcriptions", "openai"): OpenAITranscriptions("transcriptions"),
    ("translations", "openai"): OpenAITranscriptions("translations"),
}
# Whoever has chat can be asked for text completions.
for (_operation, _dialect), _adapter in list(ADAPTERS.items()):
    if _operation == "chat":
        ADAPTERS.setdefault(("completions", _dialect), CompletionsByChat(_adapter))


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
    return frozenset.intersection(
        *[BY_NAME[kind].taken_unseen(adapter_of(operation, kind).supported) for kind in kinds]
    )
