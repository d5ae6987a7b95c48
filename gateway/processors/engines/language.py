"""Finds out the language of a text. Imported in a child process alone
(gateway.processors.engine_pool).

A request has `text`. The answer has `candidates`: pairs of an ISO 639 code and a confidence from 0
to 1, the likeliest first; none for a text without letters.
"""

from __future__ import annotations

import msgspec
from py3langid.langid import MODEL_FILE, LanguageIdentifier

MOST_CANDIDATES = 5
LEAST_CONFIDENCE = 0.01
_identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


class Request(msgspec.Struct):
    text: str


def handle(request: dict[str, object]) -> dict[str, object]:
    """Return the languages that the text may be in."""
    asked = msgspec.convert(request, Request)
    if not any(c.isalpha() for c in asked.text):
        return {"candidates": []}
    ranked = [(str(name), round(float(share), 4)) for name, share in _identifier.rank(asked.text)]
    likely = [one for one in ranked[:MOST_CANDIDATES] if one[1] >= LEAST_CONFIDENCE]
    return {"candidates": [list(one) for one in likely]}
