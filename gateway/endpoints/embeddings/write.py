"""POST /embeddings, outbound: the vectors in the form that the caller asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import msgspec
from msgspec import UNSET

from gateway.core.embeddings import EmbeddingsAnswer, Vector, as_base64, as_numbers
from gateway.core.events import Answer
from gateway.core.money import usd
from gateway.core.receipt import Receipt
from gateway.endpoints.base import AnswerForm
from gateway.endpoints.embeddings.schema import Embedding, EmbeddingsResponse, EmbeddingsUsage


class EmbeddingsWriter:
    """A Writer (gateway.endpoints.base)."""

    def __init__(self, form: AnswerForm, *, wants_base64: bool) -> None:
        self._form = form
        self._wants_base64 = wants_base64

    def write_answer(self, answer: Answer, receipt: Receipt) -> bytes:
        assert isinstance(answer, EmbeddingsAnswer)
        form, prompt_tokens = self._form, receipt.usage.prompt_tokens
        convert: Callable[[Vector], Vector] = as_base64 if self._wants_base64 else as_numbers
        return msgspec.json.encode(
            EmbeddingsResponse(
                id=f"embd-{form.call_id}",
                object="list",
                data=[
                    # Numbers are written as the text that they came as.
                    Embedding("embedding", index, cast(str, convert(vector)))
                    for index, vector in enumerate(answer.vectors)
                ],
                model=form.model,
                usage=EmbeddingsUsage(prompt_tokens, prompt_tokens, usd(receipt.charge_nusd)),
                credits_used=form.credits(receipt),
                episode_id=form.episode_id or UNSET,
            )
        )
