"""What an installation's rules ask of a chat completion."""

from __future__ import annotations

from gateway.core.errors import RequestError
from gateway.endpoints.chat_completions.schema import (
    AssistantMessage,
    ChatCompletionRequest,
    ToolMessage,
)
from gateway.endpoints.rules import Rules


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
