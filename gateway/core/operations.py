"""What can be asked of a model, with the words for people.

Endpoints name their operation, and adapters of providers are found by it. A model may be for one
alone (gateway.models.LanguageModel).
"""

from __future__ import annotations

OPERATIONS = {
    "chat": "Chat",
    "completions": "Text completions",
    "embeddings": "Embeddings",
    "rerank": "Ranking",
    "moderations": "Moderation",
    "images": "Images",
    "speech": "Speech",
    "transcriptions": "Transcription",
    "translations": "Translation of speech",
}
# Operations that a model for another one alone can be asked for, too.
ALSO_ANSWERED_BY = {"completions": "chat", "translations": "transcriptions"}
# They are charged for their input, or by other units.
_WITHOUT_OUTPUT_TOKENS = frozenset({"embeddings", "rerank", "moderations"})


def has_output_tokens(only: str) -> bool:
    """True when calls of a model can have output tokens. only: as in is_for."""
    return only not in _WITHOUT_OUTPUT_TOKENS


def is_for(only: str, operation: str) -> bool:
    """True when a model can be asked for the operation. only: the one that it is for alone; empty
    where nobody has said."""
    return only in ("", operation, ALSO_ANSWERED_BY.get(operation, operation))
