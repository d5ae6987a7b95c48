"""anonymise: the model reads placeholders instead of personal data, the caller reads the data."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import ClassVar

import msgspec
from msgspec.structs import replace

from gateway.core.chat import ChatCall
from gateway.core.errors import RequestError
from gateway.core.json_types import JsonObject
from gateway.core.processing import ProcessorReport
from gateway.processors.base import Options, Processed, Processor, ProcessorContext
from gateway.processors.pii_search import (
    ScanSettings,
    check_scannable,
    read_search,
    read_settings,
    search_texts,
    types_of,
)
from gateway.processors.pii_types import LANGUAGES
from gateway.processors.placeholders import Found, Placeholders
from gateway.processors.restoring import Restorer, RestoreStep
from gateway.processors.texts import LONG_BYTES, read_texts

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
        if not any(found) and not context.taken_out:
            return Processed(call, None, report)

        def write() -> tuple[Placeholders, list[str]]:
            return write_placeholders(call, written, found, context.taken_out)

        is_long = len(call.payload.fields["messages"]) >= LONG_BYTES
        placeholders, replaced = await asyncio.to_thread(write) if is_long else write()
        if not placeholders.given and not placeholders.shared:
            return Processed(call, None, report)
        report.status = "applied"
        report.details["entities"] = len(placeholders.given) + len(placeholders.shared)
        report.details["entity_types"] = list(types_of(found))
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
        return Processed(call, RestoreStep(restorer), report, taken_out=placeholders.given)


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
    for text, ones in zip(texts, found, strict=True):
        for one in ones:
            placeholders.give(one.type, text[one.start : one.end])
    return placeholders, [
        placeholders.write(text, ones) for text, ones in zip(texts, found, strict=True)
    ]


def answers_in_json(call: ChatCall) -> bool:
    """True for a call whose answer's text is to be JSON."""
    wanted = msgspec.json.decode(call.payload.fields.get("response_format", b"null"))
    is_asked = isinstance(wanted, dict) and wanted.get("type") in ("json_object", "json_schema")
    return is_asked or call.payload.has("guided_json")


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
