"""POST /pii/analyse, /pii/redact and /pii/restore: what is asked, and what is answered."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from gateway.api.schemas.language import MOST_CHARS, language_of
from gateway.endpoints.reading import END
from gateway.processors.pii_search import SearchSettings
from gateway.processors.pii_types import LANGUAGES
from gateway.processors.placeholders import ANY

# As the product has it whose endpoints these are.
DEFAULT_LANGUAGE = "nl"


class PiiSearchRequest(SearchSettings, kw_only=True, forbid_unknown_fields=True):
    """A text in which personal data is looked for."""

    text: Annotated[str, Meta(min_length=1, max_length=MOST_CHARS)]
    language: Annotated[str, language_of(LANGUAGES)] = DEFAULT_LANGUAGE


class PiiEntity(Struct, kw_only=True):
    """A personal datum in a text."""

    type: str
    text: str
    start: Annotated[int, Meta(ge=0, description="In characters of the text as it was sent.")]
    end: Annotated[int, Meta(ge=0, description="The character after it.")]
    score: Annotated[float, Meta(ge=0, le=1)]


class AnalysedText(Struct, kw_only=True):
    """The personal data in a text."""

    has_pii: bool
    entities: Annotated[list[PiiEntity], Meta(description="In the order of the text.")]
    entity_types_found: Annotated[list[str], Meta(description="In alphabetical order.")]


class RedactedText(Struct, kw_only=True):
    """A text with placeholders for the personal data in it."""

    redacted_text: str
    mapping: Annotated[
        dict[str, str],
        Meta(description="What each placeholder, such as <PERSON_1>, stands for."),
    ]
    entities: Annotated[
        list[PiiEntity], Meta(description="In the order of the text as it was sent.")
    ]


class PiiRestoreRequest(Struct, kw_only=True, forbid_unknown_fields=True):
    """A text with placeholders, and what they stand for."""

    text: Annotated[str, Meta(min_length=1, max_length=MOST_CHARS)]
    mapping: Annotated[
        dict[str, str],
        Meta(
            description="What each placeholder stands for, as /pii/redact returned it.",
            extra_json_schema={"propertyNames": {"pattern": rf"^{ANY.pattern}{END}"}},
        ),
    ]


class RestoredText(Struct, kw_only=True):
    """A text with values for its placeholders."""

    text: Annotated[str, Meta(description="Placeholders that have no value stay as they are.")]
