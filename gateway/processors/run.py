"""Runs the processors of a call, each once, before it is admitted."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from time import perf_counter_ns
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from gateway.core.admission_steps import at_step
from gateway.core.answer_steps import needs_answer
from gateway.core.chat import ChatCall
from gateway.core.errors import GatewayError, InsufficientScope, RequestError
from gateway.core.processing import Processing
from gateway.core.processor_errors import LanguageNotSupported, LanguageRequired, ProcessorFailure
from gateway.core.processor_rules import NO_RULES, ProcessorRules, RequiredProcessor
from gateway.core.profiles import Profile
from gateway.core.request import RequestHead
from gateway.processors.base import Options, Processed, Processor, ProcessorContext
from gateway.processors.exchange import TimedStep
from gateway.processors.languages import main_language
from gateway.processors.registry import PROCESSORS
from gateway.processors.results import ResultSteps

logger = logging.getLogger(__name__)


class WantedProcessor(NamedTuple):
    """A processor of a call. languages: of its texts, where they are not the call's own: the
    workspace's and the caller's of a mandatory processor; empty for all."""

    processor: Processor
    options: Options
    languages: tuple[str, ...] | None = None


# In the order in which they run.
Wanted = list[WantedProcessor]


def wanted_processors(
    call: ChatCall, scopes: frozenset[str], language: str | None, rules: ProcessorRules = NO_RULES
) -> Wanted:
    """Return the processors of the call with their options, in the order in which they run.

    scopes: of the key. Mandatory processors need none, have the workspace's options, and work in
    the workspace's language and in the caller's: a wrong one hides nothing from them. Raises
    InsufficientScope, LanguageRequired, LanguageNotSupported.
    """
    given = msgspec.json.decode(call.payload.fields.get("inferada", b"{}")) or {}
    found: Wanted = []
    for name, processor in PROCESSORS.items():
        if name in call.payload.processors:
            required = rules.required.get(name)
            if required is not None:
                said = main_language(str(given.get("language") or ""))
                found.append(as_required(processor, required, said))
                continue
            options = given.get(name) or {}
            check_scope(processor, options, scopes)
            check_language(processor, options, language)
            found.append(WantedProcessor(processor, options))
    return found


def as_required(processor: Processor, required: RequiredProcessor, said: str) -> WantedProcessor:
    """Return a mandatory processor. said: the caller's language, if any. Raises LanguageRequired,
    LanguageNotSupported for one in which the processor does not work."""
    own, known = main_language(required.language), processor.languages_if_required
    if known and said and said not in known:
        raise LanguageNotSupported.of(processor.name, said, known)
    if not own and not processor.is_language_needed(required.options):
        # All of them are searched, whatever the caller says.
        return WantedProcessor(processor, required.options, ())
    languages = tuple(dict.fromkeys(one for one in (own, said) if one))
    for one in languages or (None,):
        check_language(processor, required.options, one)
    return WantedProcessor(processor, required.options, languages)


def check_scope(processor: Processor, options: Options, scopes: frozenset[str]) -> None:
    """Raise InsufficientScope for a key without the scope that the processor needs."""
    scope = processor.scope_for(options)
    if scope not in scopes:
        refusal = InsufficientScope(
            f"The API key does not have the scope {scope}.",
            param="inferada.processors",
            details={"required_scope": scope},
        )
        raise at_step(refusal, "parameters")


def check_language(processor: Processor, options: Options, language: str | None) -> None:
    """Raise LanguageRequired, LanguageNotSupported."""
    if language is None:
        if processor.is_language_needed(options):
            raise LanguageRequired(
                f"{processor.name} needs the language of the texts.",
                param="inferada.language",
                details={"processor": processor.name, "supported": sorted(processor.languages)},
            )
    elif (
        processor.languages
        and language not in processor.languages
        and processor.is_language_needed(options)
    ):
        raise LanguageNotSupported.of(processor.name, language, processor.languages)


def read_language(call: ChatCall, rules: ProcessorRules = NO_RULES) -> str | None:
    """Return the language that the request names: "en" for "en-US", too; or the workspace's."""
    given = msgspec.json.decode(call.payload.fields.get("inferada", b"{}")) or {}
    said = str(given.get("language") or "") or rules.language or ""
    return main_language(said) or None


async def run_processors(call: ChatCall, wanted: Wanted, context: ProcessorContext) -> ChatCall:
    """Return the call as the model gets it, with what is to be done with its answer.

    Raises what a processor raises; ProcessorFailure for what none should.
    """
    processing = Processing(context.language)
    steps: list[TimedStep] = []
    result_steps = ResultSteps(processing)
    given, body = call.payload.fields, call.facts.body
    for processor, options, languages in wanted:
        began_ns = perf_counter_ns()
        asked = replace(context, taken_out=processing.taken_out)
        if languages is not None:
            first = languages[0] if languages else None
            asked = replace(asked, language=first, more_languages=languages[1:])
        done = await apply(processor, call, options, asked)
        call, report = done.call, done.report
        report.duration_ns = perf_counter_ns() - began_ns
        processing.before_ns += report.duration_ns
        processing.reports[processor.name] = report
        processing.taken_out.update(done.taken_out)
        if done.step is not None:
            steps.append(TimedStep(done.step, processor.name, processing))
        if done.result_step is not None:
            result_steps.add(processor.name, done.result_step)
    if needs_answer(steps) and call.payload.n > 1:
        raise RequestError("n must be 1 with a processor that needs the whole response.", param="n")
    if call.payload.fields is not given and call.facts.body is body:
        # What is stored and compared of the request is what its model reads.
        call = replace(call, facts=replace(call.facts, body=write_body(call)))
    # The first to change the request is the last to change its answer.
    return call.with_payload(
        answer_steps=tuple(reversed(steps)),
        result_step=result_steps if result_steps else None,
        processing=processing,
    )


async def apply(
    processor: Processor, call: ChatCall, options: Options, context: ProcessorContext
) -> Processed:
    """Raises GatewayError alone: a fault in a processor lets nothing through."""
    try:
        return await processor.apply(call, options, context)
    except GatewayError:
        raise
    except Exception as error:
        # Its text may have a part of the request in it.
        logger.error("The processor %s failed: %s", processor.name, type(error).__name__)
        raise ProcessorFailure(f"The processor {processor.name} failed.") from None


def place_stream(call: ChatCall, head: RequestHead, profile: Profile) -> ChatCall:
    """Return a call whose processors need the whole answer as its caller gets that (C-03 of the
    gateway contract): a stream that is made of it, or JSON, where the profile's product does that
    and the caller is no official SDK, which would take it for an empty stream."""
    processing = call.payload.processing
    if processing is None or not call.facts.stream or not needs_answer(call.payload.answer_steps):
        return call
    if profile.answers_streams_as_json and not head.first(b"x-stainless-lang"):
        processing.stream_mode = "disabled"
        return call.buffered()
    processing.stream_mode = "buffered-replay"
    return call


def write_body(call: ChatCall) -> bytes:
    """Return the request as JSON, its fields as they are now."""
    fields: Mapping[str, msgspec.Raw] = {
        name: msgspec.Raw(bytes(raw)) for name, raw in call.payload.fields.items()
    }
    return msgspec.json.encode(fields)
