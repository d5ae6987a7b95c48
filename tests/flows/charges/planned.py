"""Random calls of each endpoint, and what the fake upstream is told to make of them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any
from urllib.parse import urlencode

from tests.fakes.counting import PER_MESSAGE, PRIMED, tokens_in
from tests.flows.caller import Caller, LiveCall
from tests.flows.charges.book import FIELDS, Counts
from tests.flows.pairs.conversation import Format, User, Wishes

WORDS = ("red", "bicycle", "42", "naïve", "water", "über", "x", "Straße", "and", "日本")
# Refusals that another provider would not mend, and those that it might.
REFUSALS = (400, 401, 403, 404, 413, 422, 429, 500, 503, 529)
Members = dict[str, Any]
# What the models begin with that serve where a provider refuses.
FALLBACK = "charges-fallback"


class Ending(Enum):
    """How a call ends."""

    WHOLE = "whole"
    # The provider refuses it, or breaks off in the middle.
    REFUSED = "refused"
    BROKEN = "broken"
    # The caller hangs up: a stream in the middle, any other call before its answer.
    LEFT = "left"
    # The provider refuses it, and another one serves it, at other prices.
    FALLBACK = "fallback"


E = Ending
# In the short form as in the long one, all of them come.
ENDINGS = (
    *(E.WHOLE, E.LEFT, E.WHOLE, E.FALLBACK, E.WHOLE, E.REFUSED, E.WHOLE, E.BROKEN),
    *(E.WHOLE,) * 8,
)


@dataclass(frozen=True)
class Planned:
    """A call that is to be made."""

    ending: Ending
    stream: bool
    # Sends it, with these headers besides.
    begin: Callable[[Caller, Mapping[str, str]], LiveCall]
    # What it used by our own count, when the caller has left: the provider says nothing then.
    estimate: Counts
    # What the provider does not count, and the gateway does.
    ours: Counts = field(default_factory=dict)
    # The caller leaves once it has heard this much: given what has come, returns whether to go.
    is_enough: Callable[[bytes], bool] = bool
    # The whole answer says what it cost. A file of sound does not, nor does plain text.
    tells_cost: bool = True
    # Our own count is charged for the whole answer, too: the provider reports none of this.
    is_counted_by_us: bool = False

    @property
    def is_left_unanswered(self) -> bool:
        return self.ending is Ending.LEFT and not self.stream


@dataclass(frozen=True)
class Means:
    """What a provider can count and be asked for."""

    units: frozenset[str]
    reasons: bool = False
    # Its count of the completion is without the reasoning.
    counts_reasoning_apart: bool = False
    # Endpoints of one answer: `n`, `best_of`, several inputs.
    many: bool = True
    # One prompt, of which there may be many completions all the same.
    one_prompt: bool = False
    # A stream says what the prompt came to before its output.
    tells_prompt: bool = False
    # Each piece of a stream says what all has come to so far.
    tells_all: bool = False
    # What the model has a price for.
    priced: frozenset[str] = frozenset(FIELDS)
    # Inputs, or documents, that one request may have: more go out in several.
    most: int = 0
    # Inputs may be tokens.
    takes_tokens: bool = True
    # The provider says what was used.
    reports: bool = True


Plan = Callable[[random.Random, Ending, Means], Planned]


def words(dice: random.Random, most: int) -> str:
    return " ".join(dice.choices(WORDS, k=dice.randint(1, most)))


# The field of the script for each part of the prompt, and how often it has any of it.
CACHED_SHARES = (
    ("cached", "cached", 0.6),
    ("cache_write", "cache_written", 0.6),
    ("cache_write_1h", "cache_written_1h", 0.5),
)
BREAKS = ("reset_after", "truncate_after", "close_after")


def script_for(
    dice: random.Random,
    ending: Ending,
    *,
    tokens: int,
    stream: bool,
    breaks_by: tuple[str, ...] = BREAKS,
) -> Members:
    """Return the script of an ending. tokens: how many are generated."""
    breaks = dice.choice(breaks_by)
    scripts: dict[Ending, Members] = {
        E.WHOLE: {},
        E.REFUSED: {"fail": dice.choice(REFUSALS)},
        E.FALLBACK: {"fail": 503, "fail_times": 1},
        E.BROKEN: {breaks: dice.randint(1, tokens)},
        E.LEFT: {"stall_after": dice.randint(1, tokens)} if stream else {"hang": 1},
    }
    if ending is E.BROKEN and dice.random() < 0.2:
        return {"drop": dice.choice(("reset", "close"))}
    return scripts[ending]


def script_of_shares(dice: random.Random, means: Means, prompt_tokens: int) -> Members:
    """Return what of the prompt is in the cache, or goes into it."""
    script: Members = {}
    for unit, name, share in CACHED_SHARES:
        if unit in means.units and dice.random() < share:
            script[name] = dice.randint(0, prompt_tokens)
    return script


def script_of_search(dice: random.Random) -> Members:
    """Return what a model of Perplexity's does beside answering: it researches, and counts that, or
    has a fee for the request, or none."""
    if dice.random() < 0.5:
        return {
            "searched": dice.randint(0, 30),
            "cited": dice.randint(0, 20_000),
            "researched": dice.randint(0, 200_000),
        }
    return dice.choice(({}, {"fee_usd": 0.006}, {"fee_usd": 0}))


def write_script(script: Members) -> str:
    return f"script:{urlencode(script)}"


def count_texts(*texts: str, is_chat: bool = False) -> int:
    """Return the tokens of a prompt by OpenAI's tokenizer, and by its rules for messages."""
    tokens = sum(map(tokens_in, texts))
    return tokens + PRIMED + (PER_MESSAGE + 1) * len(texts) if is_chat else tokens


def plan_conversation(form: Format) -> Plan:
    """Return what plans calls of a chat endpoint."""

    def plan(dice: random.Random, ending: Ending, means: Means) -> Planned:
        stream, tokens = dice.random() < 0.6, dice.randint(1, 60)
        system = words(dice, 200) if dice.random() < 0.8 else ""
        prompt_tokens = len(system.split()) + 1
        script: Members = {"tokens": tokens}
        script |= script_for(dice, ending, tokens=tokens, stream=stream)
        limit = dice.randint(1, 80)
        if ending in (E.LEFT, E.BROKEN):
            limit = 4_000
        if ending is not E.LEFT:
            script["per_event"] = dice.randint(1, 5)
            if means.reasons and dice.random() < 0.5:
                script["reasoning"] = dice.randint(1, 20)
            if means.counts_reasoning_apart and ending is not E.FALLBACK:
                script["usage"] = "apart"
        script |= script_of_shares(dice, means, prompt_tokens)
        if "research" in means.units:
            script |= script_of_search(dice)
        said = write_script(script)
        wishes = Wishes(stream=stream, system=system, max_tokens=limit)

        def begin(caller: Caller, headers: Mapping[str, str]) -> LiveCall:
            return form.begin(caller, [User(said)], replace(wishes, headers=headers))

        return Planned(
            ending,
            stream,
            begin,
            estimate={"prompt": count_texts(*filter(None, (system, said)), is_chat=True)},
            is_enough=has_stalled(script),
        )

    return plan


def has_stalled(script: Members, choices: int = 1) -> Callable[[bytes], bool]:
    """Return what finds that the last token has come before the provider goes silent, which stands
    in one piece as tokens do."""
    last = f"tok{script.get('stall_after', 0) - 1} ".encode()
    return lambda said: said.count(last) >= choices


def plan_choices(dice: random.Random, ending: Ending, means: Means) -> Planned:
    """Plan a chat of several answers, as chat completions have it."""
    stream, tokens, choices = dice.random() < 0.6, dice.randint(1, 30), dice.randint(2, 4)
    script = {"tokens": tokens} | script_for(dice, ending, tokens=tokens, stream=stream)
    if "cached" in means.units and dice.random() < 0.6:
        script["cached"] = dice.randint(0, 20)
    system, said = words(dice, 50), write_script(script)
    texts = {"system": system, "user": said}
    body = {
        "messages": [{"role": role, "content": text} for role, text in texts.items()],
        "n": choices,
        "max_tokens": dice.randint(1, 40) if ending not in (E.LEFT, E.BROKEN) else 100,
        "stream": stream,
        "stream_options": {"include_usage": True} if stream else None,
    }
    return Planned(
        ending,
        stream,
        post("/v1/chat/completions", body),
        estimate={"prompt": count_texts(*texts.values(), is_chat=True)},
        is_enough=has_stalled(script, choices),
    )


def post(path: str, body: Members) -> Callable[[Caller, Mapping[str, str]], LiveCall]:
    """Return what sends a body to an endpoint."""

    def begin(caller: Caller, headers: Mapping[str, str]) -> LiveCall:
        raw = json.dumps({"model": caller.model, **body}).encode()
        return caller.begin(path=path, raw=raw, headers=headers)

    return begin


def plan_completion(dice: random.Random, ending: Ending, means: Means) -> Planned:
    tokens, stream = dice.randint(1, 40), dice.random() < 0.5
    script = {"tokens": tokens, **script_for(dice, ending, tokens=tokens, stream=stream)}
    prompts = [write_script(script)]
    body: Members = {"stream": stream, "max_tokens": dice.randint(1, 50)}
    if ending in (E.LEFT, E.BROKEN):
        body["max_tokens"] = 50
    has_many = means.many and not means.one_prompt
    if has_many:
        prompts += [words(dice, 30) for _ in range(dice.randint(0, 3))]
    if means.many:
        body["n"] = dice.randint(1, 3)
        if has_many and not stream:
            body["best_of"] = body["n"] + dice.randint(0, 2)
    return Planned(
        ending,
        stream,
        post("/v1/completions", body | {"prompt": prompts if has_many else prompts[0]}),
        estimate={"prompt": count_texts(*prompts)},
        is_enough=has_stalled(script, len(prompts) * body.get("n", 1)),
    )


def plan_embedding(dice: random.Random, ending: Ending, means: Means) -> Planned:
    others = dice.randint(0, 20) if not means.most else how_many(dice, means.most) - 1
    inputs: list[Any] = [
        write_script(script_of_one(dice, ending, means, "embeddings")),
        *(words(dice, 30 if others < MANY else 2) for _ in range(others)),
    ]
    estimate = {"prompt": count_texts(*inputs)}
    if means.takes_tokens and ending is E.WHOLE and dice.random() < 0.3:
        inputs = [[7] * dice.randint(1, 30) for _ in inputs]
        estimate = {"prompt": sum(map(len, inputs))}
    body = {"input": inputs, "encoding_format": dice.choice(("float", "base64"))}
    return Planned(ending, False, post("/v1/embeddings", body), estimate=estimate)


# More inputs than these are short ones.
MANY = 250


def how_many(dice: random.Random, most: int) -> int:
    """Return how many inputs a call has: of one request, or of several."""
    some = (1, 2, 5, most, most + 1, 2 * most, 2 * most + dice.randint(1, 9))
    return dice.choices(some, (9, 9, 9, 1, 1, 1, 1) if most > MANY else None)[0]


def script_of_one(dice: random.Random, ending: Ending, means: Means, operation: str) -> Members:
    """Return the script of an ending of a call without streams."""
    if ending is E.FALLBACK and means.most:
        # Which of several requests comes first is left to chance.
        return {"fail": 503, "fail_but": f"{FALLBACK}-{operation}"}
    return script_for(dice, ending, tokens=1, stream=False)


def plan_moderation(dice: random.Random, ending: Ending, means: Means) -> Planned:
    script = write_script(script_for(dice, ending, tokens=1, stream=False))
    texts = [script, *(words(dice, 30) for _ in range(dice.randint(0, 9)))]
    given: Any = texts
    if dice.random() < 0.3:
        given = [{"type": "text", "text": text} for text in texts]
    return Planned(
        ending,
        False,
        post("/v1/moderations", {"input": given}),
        estimate={"prompt": count_texts(*texts)},
        # As OpenAI, by which it is served in the end.
        is_counted_by_us=not means.reports or ending is E.FALLBACK,
    )


def plan_ranking(dice: random.Random, ending: Ending, means: Means) -> Planned:
    query = write_script(script_of_one(dice, ending, means, "rerank"))
    count = how_many(dice, means.most) if means.most else dice.choice((1, 3, 99, 100, 101, 250))
    documents = [words(dice, 9 if count < MANY else 2) for _ in range(count)]
    searches = {"search": -(-len(documents) // 100)}
    body = {"query": query, "documents": documents, "top_n": dice.randint(1, 300)}
    return Planned(
        ending,
        False,
        post("/v1/rerank", body),
        estimate={"prompt": count_texts(query, *documents)} | searches,
        ours={} if "search" in means.units else searches,
        is_counted_by_us=not means.reports and ending is not E.FALLBACK,
    )


def plan_images(dice: random.Random, ending: Ending, means: Means) -> Planned:
    prompt, images = write_script(script_for(dice, ending, tokens=1, stream=False)), 1
    if means.many:
        images = dice.randint(1, 10)
    return Planned(
        ending,
        False,
        post("/v1/images/generations", {"prompt": prompt, "n": images}),
        estimate={"prompt": count_texts(prompt), "image": images},
    )
