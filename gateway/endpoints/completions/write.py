"""POST /completions, outbound: our events to text completions and their chunks.

Answers are a chat's (gateway.core.events): the text is their content. Reasoning has a member of its
own. Where the usage of a stream goes is the profile's, as for chat completions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import msgspec
from msgspec import UNSET, UnsetType

from gateway.core.errors import GatewayError
from gateway.core.events import Answer, ChatAnswer, Delta, Finish, UsageReported, WrittenEvent
from gateway.core.json_types import JsonObject
from gateway.core.receipt import Receipt
from gateway.endpoints.base import AnswerForm
from gateway.endpoints.chat_completions.response_schema import Fallback
from gateway.endpoints.chat_completions.write import (
    AFTER_FINISH,
    NOWHERE,
    ON_FINISH,
    TWICE,
    place_usage,
    spell_extras,
    write_timings,
    write_usage,
)
from gateway.endpoints.completions.schema import TextChoice, TextCompletion, TextCompletionChunk
from gateway.http.error_format import render_error
from gateway.http.sse import DATA, DONE, END, KEEP_ALIVE

CHAT_PREFIX, TEXT_PREFIX = "chatcmpl-", "cmpl-"
# For the loops that read a choice in each chunk, where nobody asked for the usage.
EMPTY_CHOICE = TextChoice(0, "", None, None)
_encode = msgspec.json.encode


def answer_id(form: AnswerForm) -> str:
    """Return the id of an answer, its prefix that of text completions where ours is chat's."""
    given = form.answer_id
    return TEXT_PREFIX + given.removeprefix(CHAT_PREFIX) if given.startswith(CHAT_PREFIX) else given


class TextWriter:
    """A Writer of buffered answers (gateway.endpoints.base)."""

    keep_alive = KEEP_ALIVE
    fallback: tuple[str, int] | None = None
    ends_with_whole = False

    def __init__(self, form: AnswerForm) -> None:
        self._form = form

    def write_answer(self, answer: Answer, receipt: Receipt) -> bytes:
        assert isinstance(answer, ChatAnswer)
        form = self._form
        return _encode(
            TextCompletion(
                id=answer_id(form),
                object="text_completion",
                created=form.created,
                model=form.model,
                choices=[
                    _choice(one.index, one.message, one.logprobs, one.finish_reason)
                    for one in answer.choices
                ],
                system_fingerprint=spell_extras(answer.extras, form.profile)[0],
                usage=write_usage(receipt.usage, receipt.charge_nusd),
                timings=write_timings(receipt),
                credits_used=form.credits(receipt),
                episode_id=form.episode_id or UNSET,
            )
        )


class TextChunkWriter(TextWriter):
    """A Writer of streams. Holds finish chunks back until the cost is known."""

    def __init__(self, form: AnswerForm, *, include_usage: bool | None) -> None:
        super().__init__(form)
        self.is_open = False
        self._asks_for_usage = bool(include_usage)
        self._where = place_usage(form.profile.usage_mode, include_usage)
        self._extras: JsonObject = {}
        self._held: dict[int, Finish] = {}

    def open(self) -> bytes:
        """A stream begins with its first text."""
        self.is_open = True
        return b""

    def write(self, event: WrittenEvent) -> bytes:
        if isinstance(event, Delta):
            self.is_open = True
            choice = _choice(event.index, event.fields, event.logprobs, None)
            return self._frame(self._chunk(choice))
        if isinstance(event, Finish):
            self._held[event.index] = event
        elif isinstance(event, UsageReported):
            self._extras.update(event.extras)
        return b""

    def close(self, receipt: Receipt) -> list[bytes]:
        """Return the last frames: finish, usage, [DONE]. Each is to be written by itself."""
        frames = []
        for position, finish in enumerate(self._held.values()):
            is_last = position == len(self._held) - 1
            chunk = self._chunk(_choice(finish.index, {}, finish.logprobs, finish.reason))
            if is_last and self._where == ON_FINISH:
                self._add_usage(chunk, receipt)
                chunk.credits_used = self._form.credits(receipt)
            if is_last and self.fallback is not None:
                chunk.fallback = Fallback(*self.fallback)
            frames.append(self._frame(chunk))
        if self._where not in (NOWHERE, ON_FINISH):
            chunk = self._chunk(*[EMPTY_CHOICE] if self._where == AFTER_FINISH else [])
            self._add_usage(chunk, receipt)
            if self._where == TWICE:
                frames.append(self._frame(chunk))
            chunk.credits_used = self._form.credits(receipt)
            frames.append(self._frame(chunk))
        return [*frames, DONE]

    def fail(self, error: GatewayError) -> bytes:
        """Return the frame that ends a stream which cannot go on, and [DONE]: as for chat."""
        body = render_error(error, self._form.call_id, self._form.profile)[1]
        return DATA + _encode(body) + END + DONE

    def _chunk(self, *choices: TextChoice) -> TextCompletionChunk:
        form = self._form
        return TextCompletionChunk(
            id=answer_id(form),
            object="text_completion",
            created=form.created,
            model=form.model,
            episode_id=form.episode_id or UNSET,
            choices=list(choices),
            system_fingerprint=spell_extras(self._extras, form.profile)[0],
            usage=None if self._asks_for_usage and self._where != ON_FINISH else UNSET,
        )

    def _add_usage(self, chunk: TextCompletionChunk, receipt: Receipt) -> None:
        chunk.usage = write_usage(receipt.usage, receipt.charge_nusd)

    def _frame(self, chunk: TextCompletionChunk) -> bytes:
        return DATA + _encode(chunk) + END


def _choice(
    index: int, fields: Mapping[str, object], logprobs: object, finish_reason: str | None
) -> TextChoice:
    text = fields.get("content") or fields.get("refusal") or ""
    reasoning = fields.get("reasoning")
    return TextChoice(
        index,
        text if isinstance(text, str) else "",
        # Written as the provider sent them.
        cast(JsonObject | None, logprobs),
        finish_reason,
        _text_or_unset(reasoning),
    )


def _text_or_unset(value: object) -> str | UnsetType:
    return value if isinstance(value, str) and value else UNSET
