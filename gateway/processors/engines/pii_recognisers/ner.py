"""Names, places and organisations by a model of spaCy's, through Presidio: the extra `ner`.

Of Presidio's recognisers only the model's is taken: those of e-mail addresses and URLs ask for the
public suffix list over the network.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Protocol

from gateway.processors.engines.pii_recognisers.text import Finding, Text
from gateway.processors.pii_models import REMEDY, model_of, ner_languages

_TYPES = ["PERSON", "LOCATION", "ORGANIZATION"]
# A model of spaCy's gives no scores; Presidio's of one is 0.85.
_CHARS = 100_000


class _Result(Protocol):
    entity_type: str
    start: int
    end: int
    score: float


class _Analyzer(Protocol):
    def analyze(self, *, text: str, language: str, entities: list[str]) -> list[_Result]: ...


def find(text: Text, languages: frozenset[str]) -> Iterator[Finding]:
    """Yield what the model of the language finds; without a language, every model."""
    for language in ner_languages():
        if languages and language not in languages:
            continue
        for offset in range(0, len(text.plain), _CHARS):
            piece = text.plain[offset : offset + _CHARS]
            for one in _analyzer(language).analyze(text=piece, language=language, entities=_TYPES):
                yield text.find(one.entity_type, offset + one.start, offset + one.end, one.score)


def load() -> None:
    """Load the models. Raises ImportError where there is none."""
    if not ner_languages():
        raise ImportError(REMEDY)
    for language in ner_languages():
        _analyzer(language)


@cache
def _analyzer(language: str) -> _Analyzer:
    from presidio_analyzer import AnalyzerEngine, RecognizerRegistry
    from presidio_analyzer.nlp_engine import NlpEngineProvider
    from presidio_analyzer.predefined_recognizers import SpacyRecognizer

    models = [{"lang_code": language, "model_name": model_of(language)}]
    provider = NlpEngineProvider(nlp_configuration={"nlp_engine_name": "spacy", "models": models})
    recogniser = SpacyRecognizer(supported_language=language, supported_entities=_TYPES)
    registry = RecognizerRegistry([recogniser], supported_languages=[language])
    engine: _Analyzer = AnalyzerEngine(
        registry=registry, nlp_engine=provider.create_engine(), supported_languages=[language]
    )
    return engine
