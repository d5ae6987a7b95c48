"""What a model thought, as messages and deltas have it: `reasoning_details`.

The convention is OpenRouter's: beside `reasoning`, the text, there is a list of entries that can
be signed or encrypted, and that a caller gives back unchanged with its next request.
Reference: https://openrouter.ai/docs/guides/best-practices/reasoning-tokens
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

# Who can read an entry: its `format`.
ANTHROPIC = "anthropic-claude-v1"
BEDROCK = "amazon-bedrock-v1"
GOOGLE = "google-gemini-v1"
OPENAI_RESPONSES = "openai-responses-v1"
FIELD = "reasoning_details"
# How `encrypted_content` begins that has such details of other providers than OpenAI
# (gateway.endpoints.responses.encrypted_content).
SEALED = "reasoning_details."
Fields = Mapping[str, object]


class ReasoningDetail(Struct, tag_field="type", kw_only=True):
    """An entry. Pieces of one entry have the same index."""

    id: str | None = None
    format: str | None = None
    index: Annotated[int, Meta(ge=0, le=2**31 - 1)] | None = None


class ReasoningText(ReasoningDetail, tag="reasoning.text"):
    """Text as the model thought it, and the provider's signature of it."""

    text: str | None = None
    signature: str | None = None


class ReasoningSummary(ReasoningDetail, tag="reasoning.summary"):
    """What the provider tells of the model's thoughts."""

    summary: str


class ReasoningEncrypted(ReasoningDetail, tag="reasoning.encrypted"):
    """Thoughts that only the provider can read, or its signature of a tool call: `id` is then that
    call's."""

    data: str


AnyDetail = ReasoningText | ReasoningSummary | ReasoningEncrypted


def merge(details: Iterable[AnyDetail]) -> list[AnyDetail]:
    """Return the entries with their pieces put together: those of one type and index, which a
    stream brings one by one. Encrypted entries come whole."""
    merged: list[AnyDetail] = []
    known: dict[tuple[type[AnyDetail], int], AnyDetail] = {}
    for detail in details:
        index = detail.index
        found = None if index is None else known.get((type(detail), index))
        if isinstance(detail, ReasoningEncrypted) or found is None:
            found = msgspec.structs.replace(detail)
            merged.append(found)
            if index is not None:
                known[type(detail), index] = found
            continue
        _add(found, detail)
        found.id, found.format = found.id or detail.id, found.format or detail.format
    return merged


def _add(whole: AnyDetail, piece: AnyDetail) -> None:
    if isinstance(whole, ReasoningText) and isinstance(piece, ReasoningText):
        whole.text = (whole.text or "") + (piece.text or "")
        whole.signature = (whole.signature or "") + (piece.signature or "")
    elif isinstance(whole, ReasoningSummary) and isinstance(piece, ReasoningSummary):
        whole.summary += piece.summary


def text_of(detail: AnyDetail) -> str:
    """Return what can be read of an entry."""
    match detail:
        case ReasoningText():
            return detail.text or ""
        case ReasoningSummary():
            return detail.summary
        case ReasoningEncrypted():
            return ""


def texts_in(
    details: Sequence[AnyDetail] | None, reasoning: str | None, reasoning_content: str | None
) -> Iterator[str]:
    """Yield the reasoning of a message: `reasoning` and `reasoning_content` are one text under two
    names, which the details say again where they have text."""
    texts = [text for text in map(text_of, details or ()) if text]
    if texts:
        yield from texts
    elif text := reasoning or reasoning_content:
        yield text


def write(kind: str, index: int, form: str, **said: str) -> dict[str, object]:
    """Return an entry as messages and deltas have it. kind: text, summary or encrypted."""
    return {"type": f"reasoning.{kind}", **said, "format": form, "index": index}


def texts_of_fields(fields: Fields) -> list[str]:
    """Return the texts of a delta's or a message's details, whatever a provider sent there. None
    where `reasoning` has them already."""
    details = fields.get(FIELD)
    if not isinstance(details, list) or isinstance(fields.get("reasoning"), str):
        return []
    said = [
        detail.get(name)
        for detail in details
        if isinstance(detail, dict)
        for name in ("text", "summary")
    ]
    return [text for text in said if isinstance(text, str)]
