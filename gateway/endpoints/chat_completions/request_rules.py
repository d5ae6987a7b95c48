"""What an installation asks of requests, beside what their types say."""

from __future__ import annotations

import msgspec

from gateway.core.errors import RequestError
from gateway.endpoints.chat_completions.schema import (
    AssistantMessage,
    ChatCompletionRequest,
    ToolMessage,
)


class Rules(msgspec.Struct, frozen=True):
    """stop_sequences: how many a call may have. pairs_tools: every answer of a tool has to name a
    call of it that stands before. user_secret: providers get `user` as a keyed hash with this
    secret; empty sends it as it is."""

    stop_sequences: int = 4
    pairs_tools: bool = False
    user_secret: bytes = b""


USUAL = Rules()


def check_rules(request: ChatCompletionRequest, rules: Rules) -> None:
    """Return when the request keeps to the rules. Raises RequestError with `param`."""
    stop = request.stop
    if isinstance(stop, list) and len(stop) > rules.stop_sequences:
        raise RequestError(f"stop can have at most {rules.stop_sequences} sequences.", param="stop")
    if rules.pairs_tools:
        _check_pairs(request)


def _check_pairs(request: ChatCompletionRequest) -> None:
    asked: set[str] = set()
    for index, message in enumerate(request.messages):
        if isinstance(message, AssistantMessage):
            asked.update(call.id for call in message.tool_calls or ())
        elif isinstance(message, ToolMessage) and message.tool_call_id not in asked:
            raise RequestError(
                "No earlier assistant message has a tool call with this ID.",
                param=f"messages[{index}].tool_call_id",
            )
