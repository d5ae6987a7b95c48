"""What calls cost whose provider reports no usage, or one that cannot be: our own count, and never
a number of nonsense."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.fakes.counting import tokens_in
from tests.flows.charges.book import Counts, price_nusd
from tests.flows.charges.conftest import SEED, prices_of
from tests.flows.charges.making import Made, in_threads, read_charges
from tests.flows.charges.planned import Ending, Planned, count_texts, post, write_script
from tests.flows.charges.row import Row
from tests.flows.charges.rows import EVERY, REPORTED
from tests.flows.pairs.conversation import User, Wishes
from tests.flows.pairs.formats import FORMATS
from tests.flows.site import NUSD_PER_USD, Site
from tests.support.proofs import form

pytestmark = pytest.mark.proof
TOKENS = 6
SAID = "".join(f"tok{n} " for n in range(TOKENS))
# A count that can be.
SANE = "5"
# Counts that cannot be.
COUNTS = (
    *("-1", "-99999999999999999999", "2147483648", "9007199254740993", "1e18", "1e400", "1.5"),
    *('"12"', "true", "[]", "{}", "99999999999999999999999999999999", '"NaN"'),
)
# What Perplexity reports beside them, of which each is nothing where it makes no sense.
RESEARCH = {"num_search_queries": "2", "citation_tokens": "3", "reasoning_tokens": "4"}
WHOLE = ("none", "null", "raw:7", 'raw:"x"', "raw:[]", "raw:{}", "raw:true", "raw:[[]]")
PLAIN = '{"prompt_tokens":%s,"completion_tokens":%s,"total_tokens":1}'
BILLED = '{"billed_units":{"input_tokens":%s,"output_tokens":%s}}'
# How each dialect of chat reports the prompt and the output.
REPORTS: Mapping[str, str] = {
    "anthropic": '{"input_tokens":%s,"output_tokens":%s}',
    "aws_bedrock": '{"inputTokens":%s,"outputTokens":%s,"totalTokens":1}',
    "google_ai_studio_gemini": '{"promptTokenCount":%s,"candidatesTokenCount":%s}',
    "cohere": BILLED,
}
SAME = {
    "aws_bedrock_anthropic": "anthropic",
    "gcp_vertex_anthropic": "anthropic",
    "gcp_vertex_gemini": "google_ai_studio_gemini",
}
OF_ENDPOINT: Mapping[str, str] = {
    "rerank": '{"billed_units":{"search_units":%s},"prompt_tokens":%s}',
    "images": '{"input_tokens":%s,"output_tokens":%s}',
}


def report_of(row: Row) -> str:
    """Return the usage object that the row's provider reports, with places for two counts."""
    kind = SAME.get(row.provider.kind, row.provider.kind)
    if row.endpoint in OF_ENDPOINT:
        return OF_ENDPOINT[row.endpoint]
    if row.endpoint == "responses" and kind == "openai":
        return REPORTS["anthropic"]
    return REPORTS.get(kind, PLAIN) if row.operation in ("chat", "completions") else PLAIN


@dataclass(frozen=True)
class Case:
    """A report of nonsense, and whether the call is streamed."""

    usage: str
    stream: bool
    # What is believed of it all the same.
    told: Counts = field(default_factory=dict)


def cases_of(row: Row, dice: random.Random) -> list[Case]:
    report = report_of(row)
    pairs = [(count, SANE) for count in COUNTS] + [(count, count) for count in COUNTS]
    if row.operation in ("chat", "completions", "images"):
        pairs += [(SANE, count) for count in COUNTS]
    usages = [*WHOLE, *(f"raw:{report % pair}" for pair in pairs)]
    if row.operation in ("chat", "completions"):
        cases = [Case(usage, stream) for usage in usages for stream in (False, True)]
    else:
        cases = [Case(usage, False) for usage in usages]
    if "research" in row.provider.means.units:
        cases += cases_of_research()
    return form(short=dice.sample(cases, 12), whole=cases)


def cases_of_research() -> Iterator[Case]:
    for name in RESEARCH:
        for count in COUNTS:
            beside = ",".join(
                f'"{one}":{count if one == name else sane}' for one, sane in RESEARCH.items()
            )
            usage = f'raw:{{"prompt_tokens":5,"completion_tokens":6,{beside}}}'
            counts = {one: int(sane) for one, sane in RESEARCH.items() if one != name}
            read, thought = counts.get("citation_tokens", 0), counts.get("reasoning_tokens", 0)
            told = {"prompt": 5 + read, "completion": 6 + thought, "research": thought}
            told["search"] = counts.get("num_search_queries", 0)
            for stream in (False, True):
                yield Case(usage, stream, told)


def plan(row: Row, case: Case) -> Planned:
    """Return a call whose usage is reported so."""
    said = write_script({"tokens": TOKENS, "usage": case.usage})
    texts: list[str] = [said]
    begin: Callable[..., Any]
    if row.operation == "chat":
        [spoken] = [one for one in FORMATS if one.name == row.endpoint]
        wishes = Wishes(stream=case.stream, max_tokens=50)
        return Planned(
            Ending.WHOLE,
            case.stream,
            lambda caller, headers: spoken.begin(caller, [User(said)], wishes),
            estimate={"prompt": count_texts(said, is_chat=True), "completion": TOKENS},
        )
    estimate: dict[str, int] = {}
    body: dict[str, Any] = {"input": said}
    path = row.endpoint
    if row.endpoint == "completions":
        body = {"prompt": said, "stream": case.stream, "max_tokens": 50}
        estimate["completion"] = TOKENS
    elif row.endpoint == "rerank":
        body, estimate = {"query": said, "documents": ["a", "b"]}, {"search": 1}
        texts += ["a", "b"]
    elif row.endpoint == "images":
        path, body, estimate = "images/generations", {"prompt": said, "n": 2}, {"image": 2}
    begin = post(f"/v1/{path}", body)
    estimate["prompt"] = count_texts(*texts)
    return Planned(Ending.WHOLE, case.stream, begin, estimate=estimate)


def is_right(row: Row, made: Made, said: Mapping[str, Any], case: Case) -> bool:
    """Return whether the charge is our own count's, or the provider's word that can be true."""
    charge_nusd, prices = int(said["cost_nano_usd"]), prices_of(said["model"])
    assert made.answer is not None
    if said["error_code"] is not None:
        # What is no JSON of ours, or begins a stream that is none.
        return said["error_code"] == "provider_unavailable" and charge_nusd == 0
    counts = {
        "prompt": said["tokens_prompt"],
        "completion": said["tokens_completion"],
        **said["other_units"],
    }
    if made.answer.status != 200 or charge_nusd != price_nusd(counts, prices):
        return False
    used = {unit: count for unit, count in counts.items() if count}
    if case.told:
        told = {unit: count for unit, count in case.told.items() if count}
        return said["charge_basis"] == "usage" and used == told
    if said["charge_basis"] == "usage":
        # Providers of images need not report tokens.
        is_silent = row.endpoint == "images" and case.usage in ("none", "null", "raw:{}")
        return is_silent and counts["image"] == 2 and counts["prompt"] == counts["completion"] == 0
    estimate = dict(made.planned.estimate)
    if "completion" in estimate and not case.stream:
        # An answer in one piece is counted by a tokenizer.
        estimate["completion"] = tokens_in(SAID)
    told = {**estimate, "prompt": counts["prompt"]} if row.provider.means.tells_prompt else estimate
    return said["charge_basis"] == "estimate" and used == told


@pytest.mark.parametrize("row", [row for row in REPORTED if row in EVERY], ids=lambda row: row.name)
def test_usage_that_is_missing_or_cannot_be_is_counted_by_us(charged_site: Site, row: Row) -> None:
    site = charged_site
    caller = site.caller(credit_nusd=100 * NUSD_PER_USD).with_(model=row.name)
    cases = cases_of(row, random.Random(f"{SEED} nonsense of {row.name}"))
    plans = [plan(row, case) for case in cases]

    answers = in_threads(lambda one: one.begin(caller, {}).answer(), plans)
    made = [Made(one, answer.call_id, answer) for one, answer in zip(plans, answers, strict=True)]
    said = read_charges(caller, made)

    wrong = [
        f"{case}: {one.answer}, {charged}, expected {one.planned.estimate}"
        for case, one, charged in zip(cases, made, said, strict=True)
        if not is_right(row, one, charged, case)
    ]
    assert wrong == [], "\n".join([f"{len(wrong)} of {len(cases)}", *wrong[:10]])
    charged_nusd = sum(int(one["cost_nano_usd"]) for one in said)
    assert site.balance_nusd(caller) == 100 * NUSD_PER_USD - charged_nusd


def test_nothing_is_logged_as_our_fault(charged_site: Site) -> None:
    assert "Traceback" not in charged_site.gateway.log.read_text()
