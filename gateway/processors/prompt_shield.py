"""prompt_shield: refuses requests whose texts try to make the model break its instructions.

Read are the messages of users and the results of tools, with their files that are text. Not read
are what the caller's own program says (system and developer messages) and what models said. A
result of a server tool is withheld from the model instead, and the call goes on: no caller wrote
it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from gateway.core.chat import ChatCall
from gateway.core.processing import ProcessorReport
from gateway.core.processor_errors import ProcessorRejected
from gateway.core.result_steps import CheckedResults
from gateway.processors.base import Engines, Options, Processed, Processor, ProcessorContext
from gateway.processors.pii_search import Share
from gateway.processors.results import place_of, read_results, withhold
from gateway.processors.texts import HAYSTACK, FoundText, read_texts

ENGINE = "prompt_shield"
# Of the score, which is from 0 to 1.
DEFAULT_THRESHOLD = 0.7
ROLES = frozenset({"user", "tool", "function", HAYSTACK})
# A long text is read in pieces, which overlap so that nothing is cut in two.
PIECE_CHARS = 20_000
OVERLAP_CHARS = 1_000
# Of one request to the engine, which takes about 10 ms for each 1,000.
BATCH_CHARS = 60_000
RESULT_WITHHELD = (
    "prompt_shield withheld the result of this tool, because it looks like an attempt to make the"
    " model break its instructions."
)


class PromptShieldOptions(Struct, forbid_unknown_fields=True):
    """threshold: the score from which on a request is refused; 0.7 unless it is given."""

    threshold: Share | None = None


class Piece(NamedTuple):
    """A text or a part of it. param: its message, as errors name it."""

    text: str
    param: str


class Found(NamedTuple):
    score: float
    rule_ids: list[str]
    param: str


class PromptShield(Processor):
    """A Processor (gateway.processors.base)."""

    name = "prompt_shield"
    scope = "completions"
    description = (
        "Refuses requests in which a user, a tool or a file tries to override the model's"
        " instructions, to reveal them or to remove its limits."
    )
    options = PromptShieldOptions

    async def apply(self, call: ChatCall, options: Options, context: ProcessorContext) -> Processed:
        given = msgspec.convert(options, PromptShieldOptions)
        threshold = DEFAULT_THRESHOLD if given.threshold is None else given.threshold
        texts = await read_texts(call)
        worst = Found(0.0, [], "")
        for one in await search(texts.found, context.engines):
            if one.score > worst.score:
                worst = one
        if worst.rule_ids and worst.score >= threshold:
            raise ProcessorRejected.of(
                self.name,
                "prompt_shield rejected the request: it looks like an attempt to make the model"
                " break its instructions.",
                reason="prompt_injection",
                param=worst.param,
                found={"rule_ids": worst.rule_ids},
            )
        report = ProcessorReport("passed", {"score": worst.score, "detector": "heuristic"})
        if texts.unscannable:
            report.details["unscanned"] = len(texts.unscannable)
        if not call.payload.tools:
            return Processed(call, None, report)
        results = ResultShield(threshold, context.engines, report)
        return Processed(call, None, report, result_step=results)


class ResultShield:
    """A ResultStep (gateway.core.result_steps)."""

    def __init__(self, threshold: float, engines: Engines, report: ProcessorReport) -> None:
        self._threshold = threshold
        self._engines = engines
        self._report = report

    async def check(self, results: Sequence[str]) -> CheckedResults:
        """Raises ProcessorFailure, Overloaded."""
        texts = await read_results(results)
        rules: dict[int, list[str]] = {}
        for one in await search(texts.found, self._engines):
            score = self._report.details["score"]
            assert isinstance(score, float)
            self._report.details["score"] = max(score, one.score)
            if one.rule_ids and one.score >= self._threshold:
                rules.setdefault(place_of(one.param), []).extend(one.rule_ids)
        messages = dict.fromkeys(rules, RESULT_WITHHELD)
        return withhold(results, self._report, messages, found="rule_ids", names=rules)


async def search(texts: Sequence[FoundText], engines: Engines) -> list[Found]:
    """Return what is in each piece of the texts. Raises ProcessorFailure, Overloaded."""
    found: list[Found] = []
    for batch in batches(pieces(texts)):
        answer = await engines.run(ENGINE, {"texts": [one.text for one in batch]})
        findings = msgspec.convert(answer["findings"], list[tuple[float, list[str]]])
        found += [
            Found(score, rule_ids, piece.param)
            for piece, (score, rule_ids) in zip(batch, findings, strict=True)
        ]
    return found


def pieces(found: Sequence[FoundText]) -> Iterator[Piece]:
    """Yield what is read: the texts of each message together, for an attack can be spread over
    several, and each file by itself."""
    together: dict[str, list[str]] = {}
    for one in found:
        if one.role not in ROLES:
            continue
        if one.kind == "file":
            yield from _cut(one.text, one.param)
        else:
            message = one.param if one.role == HAYSTACK else one.param.partition(".")[0]
            together.setdefault(message, []).append(one.text)
    for message, texts in together.items():
        yield from _cut("\n".join(texts), message)


def _cut(text: str, param: str) -> Iterator[Piece]:
    for start in range(0, max(1, len(text) - OVERLAP_CHARS), PIECE_CHARS - OVERLAP_CHARS):
        yield Piece(text[start : start + PIECE_CHARS], param)


def batches(all_pieces: Iterator[Piece]) -> Iterator[list[Piece]]:
    """Yield as many pieces at a time as the engine is given."""
    batch: list[Piece] = []
    chars = 0
    for piece in all_pieces:
        if batch and chars + len(piece.text) > BATCH_CHARS:
            yield batch
            batch, chars = [], 0
        batch.append(piece)
        chars += len(piece.text)
    if batch:
        yield batch
