"""Conversations in words that belong to no format, and what the model is told to do with them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlencode

from hypothesis import strategies as st

from tests.flows.streams_agree.dialects import Dialect

Form = Literal["tools", "logprobs", "schema"]
FORMS: tuple[Form, ...] = ("tools", "logprobs", "schema")
TOOLS = ("look_up", "ask")
TOOL_SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}}
ANSWER_SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
    "required": ["city", "degrees"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class PastCall:
    """A call of a tool in an earlier turn, and what came of it."""

    id: str
    arguments: dict[str, Any]
    result: str


@dataclass(frozen=True)
class Round:
    """A question and its answer, perhaps by way of tools."""

    question: str
    calls: tuple[PastCall, ...]
    answer: str


@dataclass(frozen=True)
class Asked:
    """A conversation whose last message is a script, and what else is asked; None: it is not."""

    system: str
    rounds: tuple[Round, ...]
    script: str
    max_tokens: int | None
    temperature: float | None
    has_parallel_calls: bool | None
    effort: str | None
    # What answers are made of: text and calls of tools, text with its probabilities, or JSON.
    form: Form


said = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1).filter(
    lambda text: text.strip() == text and not text.startswith("script:")
)
temperatures = st.sampled_from([None, 0, 0.5, 1])
efforts = st.sampled_from([None, "low", "high"])
arguments = st.dictionaries(said, st.one_of(st.integers(), said, st.booleans()), max_size=3)


@st.composite
def scripts(draw: st.DrawFn, dialect: Dialect, *, has_tools: bool) -> dict[str, Any]:
    """What the model does."""
    told: dict[str, Any] = {
        "tokens": draw(st.integers(1, 12)),
        "reasoning": draw(st.integers(0, 4)),
        "cached": draw(st.integers(0, 3 if dialect.has_cache else 0)),
        "per_event": draw(st.integers(1, 5)),
    }
    if draw(st.booleans()):
        told["text"] = draw(said)
    if has_tools and draw(st.booleans()):
        told |= {"tools": draw(st.integers(1, 3)), "args": json.dumps(draw(arguments))}
    elif dialect.refusal and draw(st.booleans()):
        told["finish"] = dialect.refusal
    if dialect.is_anthropics:
        told["cache_written"] = draw(st.integers(0, 3))
        told["cache_written_1h"] = draw(st.integers(0, 2))
        if draw(st.booleans()):
            told["redacted"] = 1
        if "tools" not in told:
            told["cites"] = draw(st.sampled_from(["", "page", "web"]))
    return told


@st.composite
def rounds(draw: st.DrawFn, number: int, *, has_tools: bool) -> Round:
    calls = [
        PastCall(f"call_{number}_{position}", draw(arguments), draw(said))
        for position in range(draw(st.integers(0, 2 if has_tools else 0)))
    ]
    return Round(draw(said), tuple(calls), draw(said))


@st.composite
def requests(draw: st.DrawFn, dialect: Dialect, *, is_native: bool) -> Asked:
    """is_native: the provider gets what the caller wrote."""
    refused = dialect.refused if is_native else frozenset()
    form = draw(st.sampled_from(FORMS))
    has_tools = form == "tools"
    script = draw(scripts(dialect, has_tools=has_tools))
    may_cut = dialect.cuts_calls or "tools" not in script
    turns = [draw(rounds(number, has_tools=has_tools)) for number in range(draw(st.integers(0, 2)))]
    return Asked(
        system=draw(st.one_of(st.just(""), said)),
        rounds=tuple(turns),
        script=f"script:{urlencode(script)}",
        max_tokens=draw(st.one_of(st.none(), st.integers(1, 40))) if may_cut else None,
        temperature=None if "temperature" in refused else draw(temperatures),
        has_parallel_calls=draw(st.sampled_from([None, False, True])) if has_tools else None,
        effort=None if "effort" in refused else draw(efforts),
        form=form,
    )
