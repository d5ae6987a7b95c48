"""A chat completion request, whatever format it came in.

`ChatRequest.fields` are in OpenAI's spelling; adapters of other dialects translate them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.core.answer_steps import AnswerStep, needs_answer
from gateway.core.attachment_tokens import Picture
from gateway.core.call import Call, Payload


class ChatRequest(Payload, frozen=True, kw_only=True):
    """What a chat completion asks for."""

    operation = "chat"

    # The messages as the endpoint's own types.
    messages: Sequence[Any]
    # What stream_options asked for; None when it did not say.
    include_usage: bool | None = None
    # The smaller of the two spellings; None when the caller set no limit.
    max_tokens: int | None = None
    # An upper bound of the prompt, without `pictures`, which models count differently.
    prompt_tokens_bound: int = 0
    pictures: tuple[Picture, ...] = ()
    # What processors have left to be done with the answer, in order.
    answer_steps: tuple[AnswerStep, ...] = ()

    @property
    def is_replayed(self) -> bool:
        return bool(self.answer_steps) and needs_answer(self.answer_steps)


ChatCall = Call[ChatRequest]
