"""POST /pii/analyse, /pii/redact and /pii/restore, under every mount."""

from __future__ import annotations

import msgspec
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.api.processing import ProcessingView
from gateway.api.read_body import read_body
from gateway.api.schemas.pii import (
    AnalysedText,
    PiiEntity,
    PiiRestoreRequest,
    PiiSearchRequest,
    RedactedText,
    RestoredText,
)
from gateway.api.views import answers
from gateway.core.errors import RequestError
from gateway.core.processor_rules import NO_RULES
from gateway.endpoints.json_schema import REF
from gateway.processors.languages import main_language
from gateway.processors.pii_search import read_search, search_texts, types_of
from gateway.processors.placeholders import ANY, Found, Placeholders, Spellings
from gateway.snapshot.caller import Caller

# Of a placeholder: without the prefix of those in calls, which are none of the caller's business.
FORM = "<{}_{}>"
# A short text can name a long value often.
MOST_RESTORED_CHARS = 1_000_000
_read_search = msgspec.json.Decoder(PiiSearchRequest)
_read_restore = msgspec.json.Decoder(PiiRestoreRequest)


class PiiView(ProcessingView):
    """A view on the personal data in a text."""

    scope = "pii"

    def search(self, request: Request) -> tuple[str, list[Found]]:
        """Return the text of a request, and what is found in it. Raises InvalidJson, RequestError,
        LanguageNotSupported, ProcessorFailure, Overloaded."""
        asked = read_body(_read_search, request.body)
        language = main_language(asked.language)
        caller: Caller = request.auth  # type: ignore[assignment]
        services = (caller.key.processors or NO_RULES).services
        search = read_search(
            asked, language, name="pii", language_param="language", services=services
        )
        [found] = self.with_engines(
            request, lambda engines: search_texts([asked.text], search, engines)
        )
        return asked.text, found


class PiiAnalyseView(PiiView):
    """Find personal data in a text. No model is asked; nothing is charged or stored."""

    @answers(
        AnalysedText,
        operation_id="analysePii",
        tags=["pii"],
        request={"application/json": {"$ref": REF.format(name="PiiSearchRequest")}},
    )
    def post(self, request: Request) -> Response:
        text, found = self.search(request)
        return Response(
            AnalysedText(
                has_pii=bool(found),
                entities=entities_of(text, found),
                entity_types_found=types_of([found]),
            )
        )


class PiiRedactView(PiiView):
    """Replace the personal data in a text with placeholders. No model is asked; nothing is charged
    or stored.

    The same value gets the same placeholder. None is like one that the text has already.
    """

    @answers(
        RedactedText,
        operation_id="redactPii",
        tags=["pii"],
        request={"application/json": {"$ref": REF.format(name="PiiSearchRequest")}},
    )
    def post(self, request: Request) -> Response:
        text, found = self.search(request)
        placeholders = Placeholders([text], form=FORM)
        for one in found:
            placeholders.give(one.type, text[one.start : one.end])
        return Response(
            RedactedText(
                redacted_text=placeholders.write(text, found),
                mapping=placeholders.originals,
                entities=entities_of(text, found),
            )
        )


class PiiRestoreView(PiiView):
    """Put values back into a text for its placeholders. Nothing is charged or stored."""

    @answers(
        RestoredText,
        operation_id="restorePii",
        tags=["pii"],
        request={"application/json": {"$ref": REF.format(name="PiiRestoreRequest")}},
    )
    def post(self, request: Request) -> Response:
        asked = read_body(_read_restore, request.body)
        if not all(map(ANY.fullmatch, asked.mapping)):
            raise RequestError(
                "The names in mapping must be placeholders, such as <PERSON_1>.", param="mapping"
            )
        found = ANY.finditer(asked.text)
        more = sum(len(asked.mapping.get(one[0], "")) for one in found)
        if len(asked.text) + more > MOST_RESTORED_CHARS:
            raise RequestError(
                f"The text would have more than {MOST_RESTORED_CHARS} characters with its values.",
                param="mapping",
            )
        return Response(RestoredText(text=Spellings(asked.mapping).put_back(asked.text)[0]))


def entities_of(text: str, found: list[Found]) -> list[PiiEntity]:
    return [
        PiiEntity(
            type=one.type,
            text=text[one.start : one.end],
            start=one.start,
            end=one.end,
            score=one.score,
        )
        for one in found
    ]
