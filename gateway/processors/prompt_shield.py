"""prompt_shield: refuses requests whose texts try to make the model break its instructions.

Read are the messages of users and the results of tools, with their files that are text. Not read
are what the caller's own program says (system and developer messages) and what models said.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from gateway.core.chat import ChatCall
from gateway.core.processing import ProcessorReport
from gateway.core.processor_errors import ProcessorRejected
from gateway.processors.base import Options, Processed, Processor, ProcessorContext
from gateway.processors.pii_search import Share
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
        for batch in batches(pieces(texts.found)):
            answer = await context.engines.run(ENGINE, {"texts": [one.text for one in batch]})
            findings = msgspec.convert(answer["findings"], list[tuple[float, list[str]]])
            for piece, (score, rule_ids) in zip(batch, findings, strict=True):
                if score > worst.score:
                    worst = Found(score, rule_ids, piece.param)
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
        return Processed(call, None, report)


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
