"""spellcheck: corrects the spelling of the answer.

Answers are corrected whole: a streaming caller gets the corrected answer as a stream. Tool calls,
reasoning, refusals and answers that are JSON stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gateway.core.answer_steps import StreamFilter
from gateway.core.call import AnyCall
from gateway.core.chat import ChatCall
from gateway.core.errors import RequestError
from gateway.core.events import Answer, ChatAnswer, Choice
from gateway.core.processing import ProcessorReport
from gateway.core.processor_rules import ServiceSettings
from gateway.processors.base import Engines, Options, Processed, Processor, ProcessorContext
from gateway.processors.spelling_levels import DEFAULT, ENGINE, LANGUAGES, Level

# As a LanguageTool names those that it checks only with a region.
SERVICE_LANGUAGES = {"de": "de-DE", "en": "en-US", "pt": "pt-PT"}
# Of one request to the engine.
BATCH_CHARS = 50_000


class SpellcheckOptions(Struct, forbid_unknown_fields=True):
    """level: default corrects only where one word is clearly meant; picky takes the likeliest.
    service_id: a LanguageTool of the workspace's own, in place of the lists of words."""

    level: Level | None = None
    service_id: str | None = None


class Correction(NamedTuple):
    """A word, and what is put in its place."""

    word: str
    replacement: str


class Spelling(Struct, frozen=True, kw_only=True):
    """How texts are corrected."""

    engines: Engines
    # Each in its turn: paragraphs in another stay as they are.
    languages: tuple[str, ...]
    level: Level
    service: ServiceSettings | None = None

    async def correct(self, text: str) -> tuple[str, list[Correction]]:
        """Return a text with its spelling corrected, and what was corrected."""
        corrections = []
        for language in self.languages:
            done = []
            for part in parts_of(text):
                found = await self._find(part, language)
                done.append(put(part, found))
                corrections += [Correction(part[start:end], word) for start, end, word in found]
            text = "".join(done)
        return text, corrections

    async def _find(self, text: str, language: str) -> list[tuple[int, int, str]]:
        """Return the places of words, start and end, and what to put there."""
        if self.service is not None:
            return await self._ask(self.service, text, language)
        request = {"texts": [text], "language": language, "level": self.level}
        answer = await self.engines.run(ENGINE, request)
        [found] = msgspec.convert(answer["found"], list[list[tuple[int, int, str]]])
        return found

    async def _ask(
        self, service: ServiceSettings, text: str, language: str
    ) -> list[tuple[int, int, str]]:
        """Return what a service corrects, but for places that are never looked at."""
        if not text.strip():
            return []
        request = {"texts": [text], "language": language, "untouched": True}
        answer = await self.engines.run(ENGINE, request)
        [kept] = msgspec.convert(answer["untouched"], list[list[tuple[int, int]]])
        language = SERVICE_LANGUAGES.get(language, language)
        done: list[tuple[int, int, str]] = []
        for one in sorted(
            await self.engines.find_misspellings(service, text, language, self.level),
            key=lambda one: one.start,
        ):
            is_free = not any(start < one.end and one.start < end for start, end in kept)
            if is_free and (not done or one.start >= done[-1][1]):
                done.append((one.start, one.end, one.replacement))
        return done


def read_spelling(
    given: SpellcheckOptions,
    languages: tuple[str, ...],
    *,
    engines: Engines,
    services: Mapping[str, ServiceSettings],
) -> Spelling:
    """Return how texts are corrected by these options. Raises RequestError for a service that the
    workspace does not have, or that does something else."""
    service = None
    if given.service_id is not None:
        service = services.get(given.service_id)
        if service is None or service.kind != "languagetool":
            raise RequestError(
                f"The service {given.service_id[:64]} does not correct spelling.",
                param="inferada.spellcheck.service_id",
            )
    return Spelling(
        engines=engines, languages=languages, level=given.level or DEFAULT, service=service
    )


def put(text: str, found: Sequence[tuple[int, int, str]]) -> str:
    """Return a text with other words at some places, which are in their order."""
    pieces = []
    done = 0
    for start, end, word in found:
        pieces += [text[done:start], word]
        done = end
    return "".join([*pieces, text[done:]])


def parts_of(text: str) -> list[str]:
    """Return a text in parts that are not too long, cut between paragraphs outside of code. A
    paragraph or a block of code that is longer is a part by itself."""
    parts = [""]
    is_code = False
    for line in text.splitlines(keepends=True):
        if not is_code and len(parts[-1]) + len(line) > BATCH_CHARS:
            parts.append("")
        parts[-1] += line
        if line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
    return parts


class SpellcheckStep:
    """An AnswerStep (gateway.core.answer_steps)."""

    needs: Literal["stream", "answer"] = "answer"

    def __init__(self, spelling: Spelling, report: ProcessorReport) -> None:
        self._spelling = spelling
        self._report = report

    def open_filter(self) -> StreamFilter:
        raise AssertionError("Whole answers alone are corrected.")

    async def change(self, answer: Answer) -> Answer:
        assert isinstance(answer, ChatAnswer)
        choices = [await self._correct(choice) for choice in answer.choices]
        return replace(answer, choices=tuple(choices))

    async def _correct(self, choice: Choice) -> Choice:
        content = choice.message.get("content")
        if not isinstance(content, str) or is_json(content):
            return choice
        corrected, corrections = await self._spelling.correct(content)
        before = int(self._report.details["corrections"])  # type: ignore[arg-type]
        self._report.details["corrections"] = before + len(corrections)
        if not corrections:
            return choice
        # The probabilities are those of words that are not there any more.
        message = {**choice.message, "content": corrected}
        return replace(choice, message=message, logprobs=None)


def is_json(text: str) -> bool:
    """True for a JSON object or array, whole or cut off."""
    return text.lstrip()[:1] in ("{", "[")


class Spellcheck(Processor):
    """A Processor (gateway.processors.base)."""

    name = "spellcheck"
    scope = "language"
    description = (
        "Corrects the spelling of the response, but not code, links, placeholders, names, JSON and"
        " tool calls. The response is sent when it is complete."
    )
    options = SpellcheckOptions
    needs_language = True
    languages = LANGUAGES

    def require(self, call: AnyCall, *, is_model_local: bool) -> AnyCall:
        # Embeddings, images and the like have no text to correct.
        if call.payload.operation == "completions":
            return super().require(call, is_model_local=is_model_local)
        return call

    async def apply(self, call: ChatCall, options: Options, context: ProcessorContext) -> Processed:
        given = msgspec.convert(options, SpellcheckOptions)
        assert context.language is not None
        report = ProcessorReport("applied", {"language": context.language, "corrections": 0})
        spelling = read_spelling(
            given,
            (context.language, *context.more_languages),
            engines=context.engines,
            services=context.services,
        )
        return Processed(call, SpellcheckStep(spelling, report), report)
