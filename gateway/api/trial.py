"""What processors make of a text that a person tries. Nothing is stored or logged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
from django.http import HttpRequest

from gateway.api.mount import serving_of
from gateway.processors.base import Engines, Processor
from gateway.processors.pii_search import SearchSettings, read_search, search_texts
from gateway.processors.pii_types import CHECKED_TYPES, FORM_TYPES, LANGUAGES, NAMED_TYPES
from gateway.processors.placeholders import Found, Placeholders, Spellings
from gateway.processors.registry import ALL

__all__ = ["LANGUAGES", "NotServed", "Trial", "processors", "try_text"]

RULES = {
    **dict.fromkeys(CHECKED_TYPES, "A check digit or a strictly given form"),
    **dict.fromkeys(FORM_TYPES, "Its form, and the numbering plans of countries"),
    **dict.fromkeys(NAMED_TYPES, "A word beside it"),
}
OTHER_RULE = "Titles, introductions, lists of names and cities, forms of addresses"


class NotServed(Exception):
    """No serving process answers this request."""


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
    attack: the score of prompt_shield, and its rules."""

    text: str
    seen: str
    restored: str
    findings: Sequence[TrialFinding]
    attack: float
    attack_rules: Sequence[str]


def processors() -> list[Processor]:
    return ALL


def try_text(request: HttpRequest, workspace_id: str, text: str, language: str) -> Trial:
    """Return what anonymise and prompt_shield find in a text, with their default options. Raises
    NotServed, ProcessorFailure, Overloaded."""
    serving = serving_of(request)
    if serving is None:
        raise NotServed
    search = read_search(SearchSettings(), language, name="anonymise")

    async def run(engines: Engines) -> tuple[list[list[Found]], dict[str, object]]:
        found = await search_texts([text], search, engines)
        return found, await engines.run("prompt_shield", {"texts": [text]})

    [found], shield = serving.with_engines(workspace_id, run)
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
        attack=attack,
        attack_rules=rules,
    )


def _explain(one: Found, text: str, placeholders: Placeholders) -> TrialFinding:
    rule = RULES.get(one.type, OTHER_RULE)
    return TrialFinding(one.type, text, placeholders.given[text], rule, one.score)
