"""pii_guard: a call with personal data in it is refused.

A result of a server tool with personal data in it is withheld from the model, and the call goes on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from gateway.core.chat import ChatCall
from gateway.core.json_types import JsonValue
from gateway.core.processing import ProcessorReport
from gateway.core.processor_errors import ProcessorRejected
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
from gateway.processors.results import place_of, read_results, withhold
from gateway.processors.texts import read_texts

NAME = "pii_guard"


class PiiGuardSettings(ScanSettings, forbid_unknown_fields=True, kw_only=True):
    """Options of pii_guard."""


class PiiGuard(Processor):
    """Reads the request as processors before it have left it."""

    name = NAME
    scope = "pii"
    description = (
        "Refuses calls that contain personal data, and names the types found. Together with "
        "anonymise it refuses calls that contain data which anonymise did not replace."
    )
    options = PiiGuardSettings

    @property
    def languages_if_required(self) -> tuple[str, ...]:
        return LANGUAGES

    async def apply(self, call: ChatCall, options: Options, context: ProcessorContext) -> Processed:
        """Raises ProcessorRejected, RequestError, UnscannableContent, ProcessorFailure."""
        settings = read_settings(options)
        # All languages are searched where the call's is none of those that are known.
        language = context.language if context.language in LANGUAGES else None
        where = f"inferada.{NAME}."
        search = read_search(
            settings,
            language,
            name=NAME,
            where=where,
            services=context.services,
            more_languages=context.more_languages,
        )
        texts = await read_texts(call)
        check_scannable(texts.unscannable, settings, NAME)
        places = [(one.text, one.param) for one in texts.found]
        places += [(text, "prediction") for text in predicted_texts(call)]
        found = await search_texts([text for text, _ in places], search, context.engines)
        for (_, param), ones in zip(places, found, strict=True):
            if ones:
                types = types_of(found)
                raise ProcessorRejected.of(
                    NAME,
                    f"The request contains personal data: {', '.join(types)}.",
                    reason="personal_data",
                    param=param,
                    found={"entity_types": types},
                )
        report = ProcessorReport("passed")
        if texts.unscannable:
            report.details["unscannable"] = len(texts.unscannable)
        if not call.payload.tools:
            return Processed(call, None, report)
        results = ResultGuard(search, context.engines, report)
        return Processed(call, None, report, result_step=results)


class ResultGuard:
    """A ResultStep (gateway.core.result_steps)."""

    def __init__(self, search: Search, engines: Engines, report: ProcessorReport) -> None:
        self._search = search
        self._engines = engines
        self._report = report

    async def check(self, results: Sequence[str]) -> CheckedResults:
        """Raises ProcessorFailure, Overloaded."""
        texts = await read_results(results)
        written = [one.text for one in texts.found]
        found = await search_texts(written, self._search, self._engines)
        types: dict[int, list[str]] = {}
        for one, ones in zip(texts.found, found, strict=True):
            if ones:
                types.setdefault(place_of(one.param), []).extend(types_of([ones]))
        messages = {
            place: f"{NAME} withheld the result of this tool, because it contains personal data:"
            f" {', '.join(sorted(set(names)))}."
            for place, names in types.items()
        }
        return withhold(results, self._report, messages, found="entity_types", names=types)


def predicted_texts(call: ChatCall) -> Iterator[str]:
    """Yield the texts of `prediction`, which the provider gets beside the messages."""
    pending: list[JsonValue] = [msgspec.json.decode(call.payload.fields.get("prediction", b"null"))]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            pending += value.values() if isinstance(value, dict) else value
