"""What can be asked of a model, with the words for people.

Endpoints name their operation, and adapters of providers are found by it. A model may be for one
alone (gateway.models.LanguageModel).
"""

from __future__ import annotations

OPERATIONS = {"chat": "Chat", "embeddings": "Embeddings"}
