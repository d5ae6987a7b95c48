"""POST /messages/count_tokens: how many tokens a message request has, without asking a model."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec
from msgspec import Meta, Struct

from gateway.core.chat import ChatCall
from gateway.core.json_types import JsonObject
from gateway.core.profiles import Profile
from gateway.core.request import RequestHead
from gateway.endpoints.chat_completions.processor_options import inferada_type
from gateway.endpoints.description import EndpointDescription, Schemas
from gateway.endpoints.json_schema import optional, reference
from gateway.endpoints.messages import schema
from gateway.endpoints.messages.describe import HELLO
from gateway.endpoints.messages.endpoint import Messages
from gateway.endpoints.messages.read import decode, make_call
from gateway.http import strict_json

_decoder = msgspec.json.Decoder(schema.CountTokensRequest)


class CountedTokens(Struct):
    """How many tokens there are."""

    input_tokens: Annotated[
        int,
        Meta(
            description="By the gateway's own tokenizer: an estimate. Files that are elsewhere do"
            " not count."
        ),
    ]


class CountTokens(Messages):
    """A TokenCounter (gateway.endpoints.base)."""

    name = "count_tokens"
    paths: ClassVar[tuple[str, ...]] = ("messages/count_tokens",)

    def describe(self) -> EndpointDescription:
        body: JsonObject = {name: HELLO[name] for name in ("model", "messages")}
        return EndpointDescription(
            operation_id="countMessageTokens",
            summary="Count the tokens of a message request",
            answer="The count. Nothing is charged.",
            request=schema.CountTokensRequest,
            parts=(inferada_type(),),
            response=CountedTokens,
            examples={"hello": body},
            complete=_complete,
        )

    def read(self, body: bytes, head: RequestHead, profile: Profile) -> ChatCall:
        strict_json.check(body)
        asked = decode(_decoder, body)
        request = schema.MessagesRequest(
            max_tokens=_most(asked), **{name: getattr(asked, name) for name in _SHARED}
        )
        return make_call(request, body, head, self._rules)

    def write_count(self, tokens: int) -> bytes:
        return msgspec.json.encode(CountedTokens(tokens))


_SHARED = schema.CountTokensRequest.__struct_fields__


def _most(asked: schema.CountTokensRequest) -> int:
    """Return a limit that the request could have: it is none of those that are asked for."""
    thinking = asked.thinking
    return thinking.budget_tokens + 1 if isinstance(thinking, schema.ThinkEnabled) else 1


def _complete(schemas: Schemas) -> None:
    request = schemas[schema.CountTokensRequest.__name__]
    request["properties"]["inferada"] = optional(reference(inferada_type()))
    request["additionalProperties"] = True
