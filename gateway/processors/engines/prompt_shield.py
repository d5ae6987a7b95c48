"""Finds attempts to make a model break its instructions: our own rules, no model. Imported in a
child process alone (gateway.processors.engine_pool).

A request has `texts`. The answer has `findings`: for each text its score and the IDs of the rules
that it is made of, those with the most weight first. A score is 1 - (1 - w1)(1 - w2)… of the
weights of the rules found close to each other, from 0 to 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from gateway.processors.engines.shield.rules import (
    HIDDEN,
    HIDDEN_WEIGHT,
    MARKS,
    RULES,
    SPELLED,
    Rule,
)
from gateway.processors.engines.shield.views import hidden, joined, plain, without_digits, words

# Rules add up where they are found within so many characters.
REACH = 800
# Of what is quoted by a text about attacks, this share of its weight counts.
QUOTED_SHARE = 0.25
_QUOTED = re.compile(
    '"[^"\n]{1,300}"|“[^”\n]{1,300}”|„[^“”\n]{1,300}[“”]|«[^»\n]{1,300}»|`[^`\n]{1,300}`'
)
_ABOUT_ATTACKS = re.compile(
    r"\b(?:attack\w*|inject\w*|injec\w*|inyec\w*|iniezion\w*|jailbreak\w*|red team\w*|filt\w+"
    r"|phrases?|scanner|detector"
    r"|detect\w*|such as|our (?:chat)?bot|prompt contains|papers?|translate|aanvall\w+"
    r"|angreif\w+|attaquant\w*"
    r"|atacante\w*|aggressor\w*|zinnen|satze|frases|frasi|unser test|onze test|notre test"
    r"|nuestra prueba"
    r"|nostra prova|nosso teste)\b"
)


class Request(msgspec.Struct):
    texts: list[str]


def handle(request: dict[str, object]) -> dict[str, object]:
    """Return score and rules of every text."""
    asked = msgspec.convert(request, Request)
    return {"findings": [list(rate(text)) for text in asked.texts]}


def rate(text: str) -> tuple[float, list[str]]:
    """Return the score of a text, and the IDs of the rules behind it."""
    best = _rate_written(text)
    for inner in hidden(text):
        score, found = _rate_written(inner)
        if found:
            score = 1 - (1 - score) * (1 - HIDDEN_WEIGHT)
            best = max(best, (score, [*found, HIDDEN]))
    return best


def _rate_written(text: str) -> tuple[float, list[str]]:
    """Return score and rules of a text, nothing in it decoded."""
    low = plain(text)
    share = 1.0
    outside = low
    if _QUOTED.search(low):
        outside = _QUOTED.sub(" ", low)
        if _ABOUT_ATTACKS.search(outside):
            share = QUOTED_SHARE
    best = add_up(list(_find(low)), share)
    if share < 1:
        best = max(best, add_up(list(_find(outside))))
    spelled = without_digits(low)
    if spelled is not None:
        best = max(best, add_up(list(_find(spelled)), share))
    return best


def _find(low: str) -> Iterator[tuple[int, Rule]]:
    """Yield every place of every rule in a plain text."""
    for rule in MARKS:
        yield from _places(rule, low)
    text = words(low)
    for rule in RULES:
        yield from _places(rule, text)
    spelled = joined(low)
    if spelled is not None:
        text, runs = words(spelled[0]), spelled[1]
        for rule in RULES:
            yield from _places(rule, text)
        for run in runs:
            if any(pattern.search(run) for pattern in SPELLED.patterns):
                yield 0, SPELLED


def _places(rule: Rule, text: str) -> Iterator[tuple[int, Rule]]:
    for pattern in rule.patterns:
        for found in pattern.finditer(text):
            yield found.start(), rule


def add_up(found: list[tuple[int, Rule]], share: float = 1.0) -> tuple[float, list[str]]:
    """Return the highest score of rules that are close to each other, and their IDs."""
    found.sort(key=lambda one: one[0])
    best: tuple[float, list[str]] = (0.0, [])
    for index, (start, _) in enumerate(found):
        near: dict[str, float] = {}
        for place, rule in found[index:]:
            if place > start + REACH:
                break
            near[rule.id] = rule.weight * share
        left = 1.0
        for weight in near.values():
            left *= 1 - weight
        score = round(1 - left, 3)
        if score > best[0]:
            best = score, sorted(near, key=lambda name: (-near[name], name))
    return best
