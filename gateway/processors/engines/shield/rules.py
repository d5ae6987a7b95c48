"""The rules: what in a text speaks for an attack, and how much."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from gateway.processors.engines.shield.lexicon import DE, EN, NL, Lexicon
from gateway.processors.engines.shield.lexicon_romance import ES, FR, IT, PT

LEXICONS = (EN, NL, DE, FR, ES, IT, PT)


class Rule(NamedTuple):
    """weight: from 0 to 1, how likely a text that it finds is an attack."""

    id: str
    weight: float
    patterns: Sequence[re.Pattern[str]]


def near(*parts: str, words: int = 4) -> str:
    """Return a pattern of parts in their order, each with at most so many words before it."""
    return (rf"(?: \w+){{0,{words}}}? ").join(f"(?:{part})" for part in parts)


# What models call it in every language.
SYSTEM_PROMPT = (
    r"system ?prompts?|systeemprompts?|systemnachricht|(?:prompt|message|invite) systeme"
    r"|(?:prompt|mensaje) del? sistema|(?:prompt|messaggio) di sistema|(?:prompt"
    r"|mensagem) d[eo] sistema"
)
# Of instructions: which somebody gave to the model.
GIVEN = (
    r"you (?:were|have been|got)(?: \w+)? (?:given|told)|je(?: \w+){0,2} (?:kreeg|gekregen)"
    r"|du(?: \w+){0,2} bekommen"
    r"|on t a don\w+|t ont ete|te dieron|(?:que )?recibiste|hai ricevuto|ti hanno dato"
    r"|que recebeu|govern you"
)


def override(one: Lexicon) -> list[str]:
    return [
        near(one.ignore, SYSTEM_PROMPT, words=3),
        near(one.ignore, one.earlier, one.rules, words=3),
        near(one.ignore, one.rules, one.earlier, words=3),
        near(one.ignore, one.your, one.rules, words=3),
        near(one.ignore, one.all_before),
        near(one.all_before, one.void, words=6),
    ]


def void(one: Lexicon) -> list[str]:
    return [near(one.your, one.rules, one.void)]


def void_earlier(one: Lexicon) -> list[str]:
    return [
        near(one.earlier, one.rules, one.void),
        near(one.rules, one.earlier, one.void),
        one.all_before,
    ]


def reveal(one: Lexicon) -> list[str]:
    return [
        near(one.reveal, one.your, one.prompt, words=6),
        near(one.reveal, one.your, one.kept, one.rules, words=6),
        near(one.reveal, one.your, one.rules, one.kept, words=3),
    ]


def reveal_rules(one: Lexicon) -> list[str]:
    return [
        near(one.reveal, one.kept, one.rules),
        near(one.reveal, one.rules, one.kept),
        near(one.kept, one.rules, one.reveal),
    ]


def repeat(one: Lexicon) -> list[str]:
    return [near(one.reveal, one.above)]


def persona(one: Lexicon) -> list[str]:
    return [
        near(one.pretend, one.ai, one.unlimited, words=8),
        near(one.pretend, one.ai, one.obedient, words=8),
        near(one.mode, one.unlimited, words=10),
        near(one.mode, one.obedient, words=10),
        near(one.unlimited, one.obedient, words=6),
        near(one.obedient, one.unlimited, words=6),
        near(one.pretend, "dan|evilbot|stan", words=1),
    ]


def yours(one: Lexicon) -> list[str]:
    return [near(one.your, one.rules, words=2)]


def given(one: Lexicon) -> list[str]:
    return [near(one.rules, GIVEN)]


def single(name: str) -> Callable[[Lexicon], list[str]]:
    return lambda one: [getattr(one, name)]


def expressions(make: Callable[[Lexicon], list[str]]) -> list[str]:
    """Return an expression for each language, of whole words."""
    return [rf"(?<= )(?:{'|'.join(make(one))})(?= )" for one in LEXICONS]


# Of whole words: their weights, and what makes their expressions.
_OF_WORDS: tuple[tuple[str, float, Callable[[Lexicon], list[str]]], ...] = (
    ("override_instructions", 0.9, override),
    ("void_instructions", 0.75, void),
    ("void_earlier_instructions", 0.45, void_earlier),
    ("reveal_prompt", 0.85, reveal),
    ("reveal_rules", 0.6, reveal_rules),
    ("rules_of_the_model", 0.35, yours),
    ("rules_given_to_the_model", 0.35, given),
    ("repeat_above", 0.8, repeat),
    ("persona_without_limits", 0.8, persona),
    ("without_limits", 0.35, single("unlimited")),
    ("never_refuse", 0.4, single("obedient")),
    ("filters_off", 0.8, single("filters_off")),
    ("special_mode", 0.35, single("mode")),
    ("claimed_authority", 0.55, single("authority")),
    ("addresses_reader", 0.5, single("reader")),
    ("keep_quiet", 0.5, single("quiet")),
    ("unasked_action", 0.5, single("action")),
    ("new_task", 0.5, single("new_task")),
)
# On words.
RULES = tuple(
    Rule(name, weight, [re.compile(EXPRESSION) for EXPRESSION in expressions(make)])
    for name, weight, make in _OF_WORDS
)
# On plain text: marks that separate the roles of a conversation for a model.
MARKS = (
    Rule(
        "role_marks",
        0.55,
        [
            re.compile(
                r"<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id)"
                r"\|>"
            ),
            re.compile(r"\[/?inst\]|<</?sys>>|<(?:start|end)_of_turn>"),
            re.compile(
                r"^[ \t]{0,8}(?:#{2,4} ?)?(?:system|systeem|systeme|sistema) ?:", re.MULTILINE
            ),
            re.compile(r"</?(?:system|user_input|developer)(?:_\w+)?>"),
            re.compile(r'"role"\s{0,4}:\s{0,4}"(?:system|developer)"'),
        ],
    ),
    Rule(
        "role_marks_with_order",
        0.5,
        [
            re.compile(r"<\|im_end\|>\s{0,4}<\|im_start\|>\s*(?:system|developer)"),
            re.compile(r"<\|im_start\|>\s*(?:system|developer)[ \t]{0,4}\n"),
            re.compile(r"\[inst\]\s{0,4}<<sys>>\s{0,4}\w"),
            re.compile(r"</user_input>\s{0,4}<"),
            re.compile(r"^assistant:.{0,400}\n{1,3}user:", re.MULTILINE),
        ],
    ),
    Rule("image_that_sends", 0.75, [re.compile(r"!\[[^\[\]\n]{0,100}\]\([^()\s{]{1,300}\{+ ?\w")]),
)
# On what was spelled letter by letter: without spaces.
_GAP = r"\w{0,16}?"


def _without_spaces(one: Lexicon) -> str:
    parts = [
        _GAP.join(f"(?:{part})" for part in chain)
        for chain in (
            (one.ignore, one.earlier, one.rules),
            (one.ignore, one.rules, one.earlier),
            (one.ignore, one.your, one.rules),
            (one.reveal, one.your, one.prompt),
        )
    ]
    return "|".join(parts).replace(" ", "")


SPELLED = Rule(
    "spelled_by_letter",
    0.9,
    [re.compile(EXPRESSION) for EXPRESSION in map(_without_spaces, LEXICONS)],
)
# Added to what a hidden text has itself.
HIDDEN = "hidden_text"
HIDDEN_WEIGHT = 0.7
