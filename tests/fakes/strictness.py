"""What real providers of OpenAI's dialect refuse. The first part of the address says which one is
meant: /mistral/v1/chat/completions is strict as Mistral is, /v1/chat/completions takes all."""

from __future__ import annotations

from typing import Any

import msgspec

_ONLY_MAX_TOKENS = ("together", "deepseek", "hyperbolic", "mistral")
_NO_DEVELOPER = (*_ONLY_MAX_TOKENS, "fireworks")
_MISTRAL = frozenset(
    {
        *("model", "messages", "temperature", "top_p", "max_tokens", "stream", "stop", "n"),
        *("random_seed", "response_format", "tools", "tool_choice", "parallel_tool_calls"),
        *("presence_penalty", "frequency_penalty", "metadata", "prediction", "reasoning_effort"),
        *("safe_prompt", "prompt_mode", "prompt_cache_key"),
    }
)


class Refused(Exception):
    """The provider does not take this body."""


def _has_image(message: dict[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(part["type"] == "image_url" for part in content)


def refuse_unknown(path: str, body: bytes) -> None:
    """Raise Refused for what the provider of this address does not take."""
    provider = path.split("/", 2)[1]
    if provider == "v1":
        return
    members: dict[str, Any] = msgspec.json.decode(body)
    if "messages" not in members:
        raise Refused("Missing required parameter: 'messages'.")
    if provider == "openai" and "max_tokens" in members:
        raise Refused("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    if provider in _ONLY_MAX_TOKENS and "max_completion_tokens" in members:
        raise Refused("Unknown parameter: 'max_completion_tokens'.")
    roles = {message.get("role") for message in members["messages"]}
    if provider in _NO_DEVELOPER and "developer" in roles:
        raise Refused("Unknown role: 'developer'.")
    if provider == "deepseek" and any(map(_has_image, members["messages"])):
        raise Refused(
            "Failed to deserialize the JSON body into the target type: messages[0]: unknown variant"
            " `image_url`, expected `text` at line 1 column 98"
        )
    if provider == "mistral" and (extra := members.keys() - _MISTRAL):
        raise Refused(f"Extra inputs are not permitted: {', '.join(sorted(extra))}.")
