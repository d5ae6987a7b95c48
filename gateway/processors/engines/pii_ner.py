"""As gateway.processors.engines.pii, with names, places and organisations by a model of spaCy's.

It needs the extra `ner`, and a process of its own: the model takes much memory and a while to load.
"""

from __future__ import annotations

from gateway.processors.engines import pii
from gateway.processors.engines.pii_recognisers import ner

# What the English model maps, and what PyTorch, where it is installed, maps beside it.
MEMORY_BYTES = 4 * 1024**3
# The first request need not wait for the model.
ner.load()


def handle(request: dict[str, object]) -> dict[str, object]:
    """Return the findings of every text."""
    return pii.answer(request, pii.RECOGNISERS, beside=ner.find)
