"""anonymise: the model reads placeholders instead of personal data, the caller reads the data.

Results of server tools are read as the request was: with its placeholders, and others where they
have other data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec
from msgspec.structs import replace

from gateway.core.chat import ChatCall
from gateway.core.errors import RequestError
from gateway.core.json_types import JsonObject
from gateway.core.processing import ProcessorReport
from gateway.core.result_steps import CheckedResults
from gateway.processors.base import Engines, Options, Processed, Processor, ProcessorContext
from gateway.processors.pii_search import (
    ScanSettings,
    Search,
    check_scannable,
    read_search,
    read_settings,
    search_texts,
    types_of,
)
from gateway.processors.pii_types import LANGUAGES
from gateway.processors.placeholders import Found, Placeholders
from gateway.processors.restoring import Restorer, RestoreStep
from gateway.processors.results import read_results
from gateway.processors.texts import beside_the_loop, is_long, read_texts

NAME = "anonymise"
NOTE = (
    "Some data in this conversation is replaced with placeholders such as <INF_PERSON_1>. Treat a "
    "placeholder as the value that it stands for. Where you mean the value, write the placeholder "
    "exactly as it is, with its brackets, and do not make up others."
)
SYSTEM = ("system", "developer")


class AnonymiseSettings(ScanSettings, forbid_unknown_fields=True, kw_only=True):
    """Options of anonymise."""


class Anonymise(Processor):
    """Reversible: what was taken out of the request is put back into the answer."""

    name = NAME
    scope = "pii"
    description = (
        "Replaces personal data with placeholders before the model reads the request, and puts the "
        "data back into the response and its tool calls, in streams as well."
    )
    options = AnonymiseSettings
    needs_language = True
    languages: ClassVar[tuple[str, ...]] = LANGUAGES

    async def apply(self, call: ChatCall, options: Options, context: ProcessorContext) -> Processed:
        """Raises RequestError, UnscannableContent, LanguageNotSupported, ProcessorFailure."""
        settings = read_settings(options)
        where = f"inferada.{NAME}."
        search = read_search(
            settings,
            context.language,
            name=NAME,
            where=where,
            services=context.services,
            more_languages=context.more_languages,
        )
        if call.payload.has("prediction"):
            raise RequestError(f"prediction cannot be sent with {NAME}.", param="prediction")
        texts = await read_texts(call)
        check_scannable(texts.unscannable, settings, NAME)
        written = [one.text for one in texts.found]
        found = await search_texts(written, search, context.engines)
        report = ProcessorReport("passed", {"entities": 0, "entity_types": []})
        if texts.unscannable:
            report.details["unscannable"] = len(texts.unscannable)
        has_tools = bool(call.payload.tools)
        if not any(found) and not context.taken_out and not has_tools:
            return Processed(call, None, report)

        def write() -> tuple[Placeholders, list[str]]:
            return write_placeholders(call, written, found, context.taken_out)

        placeholders, replaced = await beside_the_loop(write, is_long=is_long(call))
        if not placeholders.given and not placeholders.shared and not has_tools:
            return Processed(call, None, report)
        note_found(report, placeholders, types_of(found))
        restorer = Restorer(
            placeholders.originals,
            report,
            foreign=placeholders.foreign,
            is_json=answers_in_json(call),
        )
        call = await texts.replace(replaced)
        if placeholders.given:
            # What stands for shared values was explained where they were taken out.
            call = add_system_text(call, NOTE)
        results = ResultAnonymiser(search, context.engines, placeholders, restorer)
        return Processed(
            call,
            RestoreStep(restorer),
            report,
            # What is found in results later is noted then.
            taken_out=dict(placeholders.given),
            result_step=results if has_tools else None,
        )


class ResultAnonymiser:
    """A ResultStep (gateway.core.result_steps) with the placeholders of the request."""

    def __init__(
        self, search: Search, engines: Engines, placeholders: Placeholders, restorer: Restorer
    ) -> None:
        self._search = search
        self._engines = engines
        self._placeholders = placeholders
        self._restorer = restorer
        # The model was told of placeholders with the request.
        self._is_explained = bool(placeholders.given)

    async def check(self, results: Sequence[str]) -> CheckedResults:
        """Raises ProcessorFailure, Overloaded."""
        placeholders = self._placeholders
        texts = await read_results(results)
        written = [one.text for one in texts.found]
        found = await search_texts(written, self._search, self._engines)
        placeholders.avoid(written)
        before = dict(placeholders.given)
        replaced = replace_found(placeholders, written, found)
        note_found(self._restorer.tally.report, placeholders, types_of(found))
        self._restorer.add(placeholders.originals, placeholders.foreign)
        return CheckedResults(
            texts=await texts.written(replaced),
            taken_out={v: p for v, p in placeholders.given.items() if v not in before},
            note="" if self._is_explained else NOTE,
        )


def note_found(report: ProcessorReport, placeholders: Placeholders, types: Sequence[str]) -> None:
    """Have the report say what was replaced so far. types: what was found now."""
    count = len(placeholders.given) + len(placeholders.shared)
    if count:
        before = report.details["entity_types"]
        assert isinstance(before, list)
        report.status = "applied"
        report.details["entities"] = count
        report.details["entity_types"] = sorted({*before, *types})


def write_placeholders(
    call: ChatCall,
    texts: Sequence[str],
    found: Sequence[Sequence[Found]],
    taken_out: Mapping[str, str],
) -> tuple[Placeholders, list[str]]:
    """Return the placeholders of a call, and its texts with them. taken_out: values that have one
    already, and keep it."""
    raw = [bytes(field).decode(errors="replace") for field in call.payload.fields.values()]
    placeholders = Placeholders([*raw, *texts], known=taken_out)
    return placeholders, replace_found(placeholders, texts, found)


def replace_found(
    placeholders: Placeholders, texts: Sequence[str], found: Sequence[Sequence[Found]]
) -> list[str]:
    """Return texts with placeholders for what was found in them, and in them all."""
    for text, ones in zip(texts, found, strict=True):
        for one in ones:
            placeholders.give(one.type, text[one.start : one.end])
    return [placeholders.write(text, ones) for text, ones in zip(texts, found, strict=True)]


def answers_in_json(call: ChatCall) -> bool:
    """True for a call whose answer's text is to be JSON."""
    wanted = msgspec.json.decode(call.payload.fields.get("response_format", b"null"))
    is_asked = isinstance(wanted, dict) and wanted.get("type") in ("json_object", "json_schema")
    constraints = msgspec.json.decode(call.payload.fields.get("structured_outputs", b"null"))
    is_guided = isinstance(constraints, dict) and constraints.get("json") is not None
    return is_asked or is_guided or call.payload.has("guided_json")


def add_system_text(call: ChatCall, text: str) -> ChatCall:
    """Return the call with a text in its system message: behind its own first one, or before
    everything."""
    messages: list[JsonObject] = msgspec.json.decode(call.payload.fields["messages"])
    first, files = messages[0] if messages else {}, call.payload.files
    content = first.get("content")
    if first.get("role") in SYSTEM and isinstance(content, str) and content:
        first["content"] = f"{content}\n\n{text}"
    elif first.get("role") in SYSTEM and isinstance(content, list) and content:
        content.append({"type": "text", "text": text})
    else:
        messages.insert(0, {"role": "system", "content": text})
        files = tuple([replace(file, row=file.row + 1) for file in files])
    fields = {**call.payload.fields, "messages": msgspec.json.encode(messages)}
    return call.with_payload(fields=fields, files=files)
