"""POST /responses/input_tokens: how many tokens a request has, without asking a model.

Reference: https://platform.openai.com/docs/api-reference/responses/input-tokens
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import msgspec
from msgspec import Meta, Struct

from gateway.endpoints.description import EndpointDescription
from gateway.endpoints.responses import schema
from gateway.endpoints.responses.describe import HELLO, PARTS, complete
from gateway.endpoints.responses.endpoint import Responses


class InputTokens(Struct):
    """How many tokens there are."""

    input_tokens: Annotated[
        int,
        Meta(
            description="By the gateway's own tokenizer: an estimate. Files that are elsewhere do"
            " not count."
        ),
    ]
    object: Literal["response.input_tokens"] = "response.input_tokens"


class CountInputTokens(Responses):
    """A TokenCounter (gateway.endpoints.base)."""

    name = "count_input_tokens"
    paths: ClassVar[tuple[str, ...]] = ("responses/input_tokens",)

    def describe(self) -> EndpointDescription:
        return EndpointDescription(
            operation_id="countInputTokens",
            summary="Count the tokens of a response's input",
            answer="The count. Nothing is charged.",
            request=schema.ResponsesRequest,
            parts=PARTS,
            response=InputTokens,
            examples={"hello": HELLO},
            complete=complete,
        )

    def write_count(self, tokens: int) -> bytes:
        return msgspec.json.encode(InputTokens(tokens))
