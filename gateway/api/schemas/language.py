"""POST /language/detect and /language/correct: what is asked, and what is answered."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

from msgspec import Meta, Struct

from gateway.endpoints.reading import END
from gateway.processors.spelling_levels import DEFAULT, LANGUAGES, Level

# However they are written in JSON, so many fit into a body (gateway.edge.form_bytes).
MOST_CHARS = 20_000


def pattern_of(languages: Iterable[str]) -> str:
    """Return the pattern of one of the languages, such as nl, and possibly a region, as in
    nl-BE."""
    return rf"^(?:{'|'.join(languages)})(?:-[A-Za-z0-9]{{1,8}})*{END}"


def language_of(languages: Iterable[str]) -> Meta:
    """Return what is said of a text's language where it has to be one of these."""
    return Meta(
        max_length=64,
        description="Of the text. A region may follow, which makes no difference.",
        extra_json_schema={"pattern": pattern_of(languages)},
    )


# A language whose spelling can be corrected.
SUPPORTED = pattern_of(LANGUAGES)


class DetectRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """A text whose language is to be found out."""

    text: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=MOST_CHARS,
            description="Longer texts give more reliable results.",
        ),
    ]


class LanguageCandidate(Struct):
    """A language that a text may be in."""

    language: Annotated[str, Meta(description="ISO 639 code, such as nl.")]
    confidence: Annotated[float, Meta(ge=0, le=1, description="All languages together have 1.")]


class DetectedLanguage(Struct, kw_only=True):
    """The language of a text."""

    object: Literal["language.detection"] = "language.detection"
    language: Annotated[
        str | None, Meta(description="The likeliest. Null where its confidence is below 0.2.")
    ]
    confidence: Annotated[float, Meta(ge=0, le=1, description="Of the first candidate.")]
    candidates: Annotated[
        list[LanguageCandidate],
        Meta(description="The likeliest first, at most 5, each with a confidence of 0.01 or more."),
    ]


class CorrectRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """A text whose spelling is to be corrected."""

    text: Annotated[str, Meta(min_length=1, max_length=MOST_CHARS)]
    language: Annotated[str, language_of(LANGUAGES)]
    level: Annotated[
        Level,
        Meta(
            description="default: only where one word is clearly meant. picky: the likeliest word."
        ),
    ] = DEFAULT


class Correction(Struct, kw_only=True):
    """A word that was corrected."""

    start: Annotated[int, Meta(ge=0, description="In characters of the text as it was sent.")]
    end: Annotated[int, Meta(ge=0, description="The character after the word.")]
    word: str
    replacement: str


class CorrectedText(Struct, kw_only=True):
    """A text with its spelling corrected."""

    object: Literal["language.correction"] = "language.correction"
    language: str
    text: str
    corrections: Annotated[list[Correction], Meta(description="In the order of the text.")]
