"""What processors make of a text that a person tries. Nothing is stored or logged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
from django.http import HttpRequest

from accounts.models import Workspace
from gateway.api.mount import serving_of
from gateway.processors.base import Engines, Options, Processor
from gateway.processors.pii_search import SearchSettings, read_search, search_texts
from gateway.processors.pii_types import (
    CHECKED_TYPES,
    FORM_TYPES,
    LANGUAGES,
    NAME_TYPES,
    NAMED_TYPES,
)
from gateway.processors.placeholders import Found, Placeholders, Spellings
from gateway.processors.prompt_shield import DEFAULT_THRESHOLD
from gateway.processors.registry import ALL
from gateway.processors.spellcheck import Correction, SpellcheckOptions, read_spelling
from gateway.services.processor_services import services_for_calls

__all__ = ["LANGUAGES", "NotServed", "Trial", "TrialOptions", "processors", "try_text"]

RULES = {
    **dict.fromkeys(CHECKED_TYPES, "Check digit or strict format"),
    **dict.fromkeys(FORM_TYPES, "Format and numbering plans of countries"),
    **dict.fromkeys(NAMED_TYPES, "Context word nearby"),
}
OTHER_RULE = "Titles, introductions, name and city lists, address formats"

MODEL_RULE = "Named-entity model or service of the workspace"


class NotServed(Exception):
    """No server process answers this request."""


class TrialFinding(NamedTuple):
    """A personal datum. rule: how it was found. placeholder: what the model reads there."""

    type: str
    text: str
    placeholder: str
    rule: str
    score: float


@dataclass(frozen=True, kw_only=True)
class Trial:
    """seen: what a model would read. restored: what a caller would, of an answer that repeats it.
    corrected: what a caller would read with spellcheck, if it were a response. attack: the score of
    prompt_shield, and its rules."""

    text: str
    seen: str
    restored: str
    findings: Sequence[TrialFinding]
    corrected: str
    corrections: Sequence[Correction]
    attack: float
    attack_rules: Sequence[str]
    # From which score on prompt_shield refuses a call.
    threshold: float


def processors() -> list[Processor]:
    return ALL


class TrialOptions(NamedTuple):
    """The options of processors in a trial, each as the members of `inferada.<processor>`."""

    anonymise: Options
    spellcheck: Options
    threshold: float = DEFAULT_THRESHOLD


def try_text(
    request: HttpRequest, workspace: Workspace, text: str, language: str, options: TrialOptions
) -> Trial:
    """Return what anonymise and prompt_shield find in a text, and what spellcheck corrects. Raises
    NotServed, and GatewayError for options that a call would be refused for and for engines that
    fail."""
    serving = serving_of(request)
    if serving is None:
        raise NotServed
    services = services_for_calls(workspace)
    settings = msgspec.convert(options.anonymise, SearchSettings)
    search = read_search(settings, language, name="anonymise", services=services)
    spelling_options = msgspec.convert(options.spellcheck, SpellcheckOptions)

    async def run(engines: Engines) -> tuple[list[Found], dict[str, object], str, list[Correction]]:
        [found] = await search_texts([text], search, engines)
        shield = await engines.run("prompt_shield", {"texts": [text]})
        spelling = read_spelling(spelling_options, (language,), engines=engines, services=services)
        return found, shield, *await spelling.correct(text)

    found, shield, corrected, corrections = serving.with_engines(str(workspace.pk), run)
    placeholders = Placeholders([text])
    for one in found:
        placeholders.give(one.type, text[one.start : one.end])
    seen = placeholders.write(text, found)
    [(attack, rules)] = msgspec.convert(shield["findings"], list[tuple[float, list[str]]])
    return Trial(
        text=text,
        seen=seen,
        restored=Spellings(placeholders.originals).put_back(seen)[0],
        findings=[_explain(one, text[one.start : one.end], placeholders) for one in found],
        corrected=corrected,
        corrections=corrections,
        attack=attack,
        attack_rules=rules,
        threshold=options.threshold,
    )


def _explain(one: Found, text: str, placeholders: Placeholders) -> TrialFinding:
    rule = RULES.get(one.type, OTHER_RULE if one.type in NAME_TYPES else MODEL_RULE)
    return TrialFinding(one.type, text, placeholders.given[text], rule, one.score)
