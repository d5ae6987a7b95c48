"""How much to think and what form the answer has, from Anthropic's spelling to OpenAI's."""

from __future__ import annotations

import msgspec

from gateway.core.errors import RequestError
from gateway.core.json_types import JsonObject
from gateway.endpoints.chat_completions import schema as openai
from gateway.endpoints.chat_completions.response_format import read_format
from gateway.endpoints.messages import schema

# Efforts by what a budget is of max_tokens, in percent, the highest first. They are those that
# OpenRouter makes budgets of, each from half-way to the one below:
# https://openrouter.ai/docs/guides/best-practices/reasoning-tokens
EFFORTS = ((65, "high"), (35, "medium"), (15, "low"))
LEAST_EFFORT = "minimal"
FORMAT_NAME = "response"
OLD_FORMAT = "output_format"
_NULL = msgspec.Raw(b"null")
_read_config = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def effort_of(request: schema.MessagesRequest) -> str | None:
    """Return the reasoning_effort; None where the model is to do as it does by itself."""
    config, thinking = request.output_config, request.thinking
    if isinstance(thinking, schema.ThinkDisabled):
        return None
    if config is not None and config.effort is not None:
        return config.effort
    if not isinstance(thinking, schema.ThinkEnabled):
        return None
    share = thinking.budget_tokens * 100 // request.max_tokens
    return next((effort for percent, effort in EFFORTS if share >= percent), LEAST_EFFORT)


def effort_path(request: schema.MessagesRequest) -> str:
    """Return which member the effort comes from."""
    config = request.output_config
    return "thinking" if config is None or config.effort is None else "output_config.effort"


def format_path(request: schema.MessagesRequest) -> str:
    """Return which member the form of the answer comes from."""
    config = request.output_config
    is_newest = config is not None and config.format is not None
    return "output_config.format" if is_newest or request.output_format is None else OLD_FORMAT


def write_format(request: schema.MessagesRequest) -> bytes | None:
    """Return the response_format, raw JSON; None where none is asked for.

    Raises RequestError for a schema that refers to another place.
    """
    config = request.output_config
    wanted = request.output_format if config is None else config.format or request.output_format
    if wanted is None:
        return None
    said: JsonObject = {"name": FORMAT_NAME, "schema": wanted.schema}
    if is_closed(wanted.schema):
        said["strict"] = True
    raw = msgspec.json.encode({"type": "json_schema", "json_schema": said})
    known = openai.ResponseJsonSchema(openai.JsonSchema(FORMAT_NAME, wanted.schema))
    try:
        return read_format(known, raw)
    except RequestError as error:
        raise RequestError(error.message, param=f"{format_path(request)}.schema") from None


def write_native(given: dict[str, bytes]) -> dict[str, bytes]:
    """Return the request's fields for providers of the same dialect: output_format, which they take
    only with a beta header and are about to give up, as output_config.format.

    Source: https://platform.claude.com/docs/en/build-with-claude/structured-outputs
    """
    if OLD_FORMAT not in given:
        return given
    config = _read_config(given.get("output_config", b"{}"))
    if config.get("format", _NULL) == _NULL:
        config["format"] = msgspec.Raw(given[OLD_FORMAT])
    fields = {name: raw for name, raw in given.items() if name != OLD_FORMAT}
    return fields | {"output_config": msgspec.json.encode(config)}


def is_closed(part: object) -> bool:
    """True for a schema that OpenAI takes as strict: all that an object may have is named and
    required."""
    if isinstance(part, dict):
        properties = part.get("properties")
        if part.get("type") == "object" or isinstance(properties, dict):
            named = set(properties) if isinstance(properties, dict) else set()
            required = part.get("required")
            if part.get("additionalProperties") is not False or not isinstance(required, list):
                return not named and part.get("additionalProperties") is False
            if named - {name for name in required if isinstance(name, str)}:
                return False
        return all(map(is_closed, part.values()))
    return not isinstance(part, list) or all(map(is_closed, part))
