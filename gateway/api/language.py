"""POST /language/detect and /language/correct, under every mount."""

from __future__ import annotations

import re

import msgspec
from rest_framework.request import Request
from rest_framework.response import Response

from gateway.api.processing import ProcessingView
from gateway.api.read_body import read_body
from gateway.api.schemas.language import (
    SUPPORTED,
    CorrectedText,
    Correction,
    CorrectRequest,
    DetectedLanguage,
    DetectRequest,
    LanguageCandidate,
)
from gateway.api.views import answers
from gateway.core.json_types import JsonObject
from gateway.core.processor_errors import LanguageNotSupported
from gateway.endpoints.json_schema import REF
from gateway.processors.languages import main_language
from gateway.processors.spellcheck import put
from gateway.processors.spelling_levels import ENGINE as SPELLING
from gateway.processors.spelling_levels import LANGUAGES

DETECTION = "language"
# From this confidence on, the likeliest language is said to be the language.
SURE = 0.2
_read_detect = msgspec.json.Decoder(DetectRequest)
_read_correct = msgspec.json.Decoder(CorrectRequest)


class LanguageDetectView(ProcessingView):
    """Detect the language of a text, by a model on this server. Nothing is charged or stored."""

    scope = "language"

    @answers(
        DetectedLanguage,
        operation_id="detectLanguage",
        tags=["language"],
        request={"application/json": {"$ref": REF.format(name="DetectRequest")}},
    )
    def post(self, request: Request) -> Response:
        asked = read_body(_read_detect, request.body)
        answer = self.run_engine(request, DETECTION, {"text": asked.text})
        found = msgspec.convert(answer["candidates"], list[tuple[str, float]])
        likeliest, confidence = found[0] if found else ("", 0.0)
        return Response(
            DetectedLanguage(
                language=likeliest if confidence >= SURE else None,
                confidence=confidence,
                candidates=[LanguageCandidate(*each) for each in found],
            )
        )


class LanguageCorrectView(ProcessingView):
    """Correct the spelling of a text, by word lists on this server. Nothing is charged or stored.

    Code, links, placeholders, markup, JSON, and words with a capital letter stay as they are.
    """

    scope = "language"

    @answers(
        CorrectedText,
        operation_id="correctSpelling",
        tags=["language"],
        request={"application/json": {"$ref": REF.format(name="CorrectRequest")}},
    )
    def post(self, request: Request) -> Response:
        asked = read_body(_read_correct, request.body)
        if re.match(SUPPORTED, asked.language) is None:
            raise LanguageNotSupported.of("spellcheck", asked.language, LANGUAGES, param="language")
        language = main_language(asked.language)
        wanted: JsonObject = {"texts": [asked.text], "language": language, "level": asked.level}
        answer = self.run_engine(request, SPELLING, wanted)
        [found] = msgspec.convert(answer["found"], list[list[tuple[int, int, str]]])
        return Response(
            CorrectedText(
                language=language,
                text=put(asked.text, found),
                corrections=[
                    Correction(start=start, end=end, word=asked.text[start:end], replacement=word)
                    for start, end, word in found
                ],
            )
        )
