"""Searches texts for personal data in the engine's process, whatever wants to know of them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from gateway.core.errors import RequestError, UnsupportedParameter
from gateway.core.processor_errors import (
    LanguageNotSupported,
    LanguageRequired,
    UnscannableContent,
)
from gateway.core.processor_rules import ServiceSettings
from gateway.processors.base import Engines
from gateway.processors.pii_models import REMEDY, ner_languages
from gateway.processors.pii_types import ENTITY_TYPES, LANGUAGES, NER, NER_TYPES
from gateway.processors.placeholders import Found

ENGINE, NER_ENGINE = "pii", "pii_ner"
# From this score on a finding counts, unless the caller says otherwise.
DEFAULT_THRESHOLD = 0.7
# Of texts that the engine gets at once: it reads more than that in a second.
MAX_CHARS = 64 * 1024
# What pieces of a longer text have in common: more than any finding is long.
OVERLAP_CHARS = 512
Share = Annotated[float, Meta(ge=0, le=1)]
EntityTypes = list[Annotated[str, Meta(min_length=1, max_length=64)]]


class SearchSettings(Struct, forbid_unknown_fields=True, kw_only=True):
    """What to look for, and how."""

    # Absent or empty: every type.
    entities: EntityTypes | None = None
    score_threshold: Share | None = None
    # "ner": with a model of names and places. Or a service of the workspace's own.
    service_id: str | None = None


class ScanSettings(SearchSettings, forbid_unknown_fields=True, kw_only=True):
    """As SearchSettings, for a call's texts."""

    # Pictures, audio and files that are no text go to the model unread.
    allow_unscannable: bool | None = None


class Search(Struct, frozen=True, kw_only=True):
    """What is looked for in texts of one call."""

    engine: str
    # Of the texts; all of them where there are none.
    languages: tuple[str, ...]
    types: tuple[str, ...]
    threshold: float
    # Asked beside the engine.
    service: ServiceSettings | None = None


def read_search(
    settings: SearchSettings,
    language: str | None,
    *,
    name: str,
    where: str = "",
    language_param: str = "inferada.language",
    services: Mapping[str, ServiceSettings] = {},
    more_languages: Sequence[str] = (),
) -> Search:
    """Return what to look for.

    name: of the processor or endpoint. where: the path of the settings in the request, with a dot
    behind it. services: of the workspace. more_languages: searched in as well. Raises RequestError,
    UnsupportedParameter, LanguageNotSupported, LanguageRequired.
    """
    types = tuple(dict.fromkeys(settings.entities or ()))
    has_model = settings.service_id == NER
    service = services.get(settings.service_id or "")
    if service is not None and service.kind != "presidio":
        raise RequestError(
            f"The service {service.service_id} does not find personal data.",
            param=f"{where}service_id",
        )
    if service is None:
        check_types(settings.entities or (), where, has_model=has_model)
    languages: Sequence[str] = LANGUAGES
    if service is not None:
        if language is None:
            raise LanguageRequired(
                f"The service {service.service_id} needs the language of the texts.",
                param=language_param,
                details={"processor": name, "supported": sorted(LANGUAGES)},
            )
    elif settings.service_id is not None:
        if not has_model:
            raise RequestError(
                f"The service {settings.service_id[:64]} does not exist.",
                param=f"{where}service_id",
            )
        languages = ner_languages()
        if not languages:
            raise UnsupportedParameter(REMEDY, param=f"{where}service_id")
    searched = () if language is None else (language, *more_languages)
    for one in searched:
        if one not in languages:
            raise LanguageNotSupported.of(name, one, languages, param=language_param)
    threshold = settings.score_threshold
    return Search(
        engine=NER_ENGINE if has_model else ENGINE,
        languages=searched,
        types=types,
        threshold=DEFAULT_THRESHOLD if threshold is None else threshold,
        service=service,
    )


def check_types(types: Sequence[str], where: str, *, has_model: bool) -> None:
    """Raise RequestError for a type that is not found here. A service has types of its own."""
    for index, one in enumerate(types):
        if one not in ENTITY_TYPES or (one in NER_TYPES and not has_model):
            raise RequestError(
                f"The type {one[:64]} cannot be found by this installation.",
                param=f"{where}entities[{index}]",
                details={"supported": [*ENTITY_TYPES[: None if has_model else -len(NER_TYPES)]]},
            )


async def search_texts(texts: Sequence[str], search: Search, engines: Engines) -> list[list[Found]]:
    """Return what is in each text, in its order; nothing overlaps. Raises ProcessorFailure,
    Overloaded."""
    found: list[list[Found]] = [[] for _ in texts]
    for batch in batches(texts):
        request: dict[str, object] = {
            "texts": [texts[index][start:end] for index, start, end in batch],
            "score_threshold": search.threshold,
        }
        if search.languages:
            request["languages"] = list(search.languages)
        if search.types:
            request["entities"] = list(search.types)
        answer = await engines.run(search.engine, request)
        findings = msgspec.convert(answer["findings"], list[list[Found]])
        for (index, start, _), ones in zip(batch, findings, strict=True):
            add(found[index], ones, start)
    if search.service is not None:
        await ask_service(search.service, texts, search, engines, found)
    return found


async def ask_service(
    service: ServiceSettings,
    texts: Sequence[str],
    search: Search,
    engines: Engines,
    found: list[list[Found]],
) -> None:
    """Add what a service finds in each text, asked in each language, beside what was found already.
    Raises ProcessorFailure."""

    async def ask(index: int, start: int, end: int, language: str) -> None:
        piece = texts[index][start:end]
        if not piece.strip():
            return
        answer = await engines.find_entities(service, piece, language, search.threshold)
        more = [
            Found(type_name(kind), start + first, start + last, score)
            for kind, first, last, score in answer
            if not search.types or (type_name(kind) in search.types)
        ]
        found[index] = beside(found[index], more)

    try:
        async with asyncio.TaskGroup() as group:
            for batch in batches(texts):
                for index, start, end in batch:
                    for language in search.languages:
                        group.create_task(ask(index, start, end, language))
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None


def type_name(kind: str) -> str:
    """Return the name of a type of a service's as placeholders can have it."""
    name = "".join(c if c.isascii() and c.isalnum() else "_" for c in kind.upper())[:48]
    return name if name[:1].isalpha() else f"X_{name}"[:48]


def beside(found: Sequence[Found], more: Sequence[Found]) -> list[Found]:
    """Return what was found, and what of more stands outside that, in the order of the text."""
    done = list(found)
    for one in sorted(more, key=lambda one: (one.start - one.end, -one.score)):
        pieces = [(one.start, one.end)]
        for other in done:
            pieces = [
                piece
                for start, end in pieces
                for piece in ((start, min(end, other.start)), (max(start, other.end), end))
                if piece[0] < piece[1]
            ]
        done += [Found(one.type, start, end, one.score) for start, end in pieces]
    return sorted(done, key=lambda one: one.start)


def batches(texts: Sequence[str]) -> Iterator[list[tuple[int, int, int]]]:
    """Yield what the engine gets at once: of texts, by their index, from where to where."""
    batch: list[tuple[int, int, int]] = []
    chars = 0
    for index, text in enumerate(texts):
        start = 0
        while start == 0 or start + OVERLAP_CHARS < len(text):
            end = min(start + MAX_CHARS, len(text))
            if batch and chars + end - start > MAX_CHARS:
                yield batch
                batch, chars = [], 0
            batch.append((index, start, end))
            chars += end - start
            start += MAX_CHARS - OVERLAP_CHARS
    if batch:
        yield batch


def add(found: list[Found], more: Sequence[Found], offset: int) -> None:
    """Add what was found in a piece of a text that begins at offset. Of what two pieces have in
    common, the first half counts by the first, the other half by the second."""
    if offset:
        middle = offset + OVERLAP_CHARS // 2
        while found and found[-1].start >= middle:
            found.pop()
    last = found[-1].end if found else 0
    for one in more:
        start, end = one.start + offset, one.end + offset
        if start >= last and (not offset or start >= offset + OVERLAP_CHARS // 2):
            found.append(Found(one.type, start, end, one.score))


def check_scannable(params: Sequence[str], settings: ScanSettings, name: str) -> None:
    """Raise UnscannableContent for a call with content that cannot be read, by its paths."""
    if params and not settings.allow_unscannable:
        raise UnscannableContent(
            f"{name} cannot read images, audio, and files that are not text. Leave them out, or "
            f"set inferada.{name}.allow_unscannable.",
            param=params[0],
            details={"processor": name, "params": list(params[:100])},
        )


def types_of(found: Sequence[Sequence[Found]]) -> list[str]:
    """Return the types that were found, in alphabetical order."""
    return sorted({one.type for ones in found for one in ones})


def read_settings(given: Mapping[str, object]) -> ScanSettings:
    """Return a processor's options, which were checked."""
    return msgspec.convert(given, ScanSettings)
