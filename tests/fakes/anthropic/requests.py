"""What the Messages API refuses of a request's headers and of its members around the messages.

Wordings are those of the API, where somebody quoted them; the source is beside each. Where the
API reference says it and nobody quoted the words, "reference" is platform.claude.com
docs/en/api/messages.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.fakes.anthropic.conversation import refuse_messages, refuse_text_blocks
from tests.fakes.anthropic.models import MISSING, Model, read_model
from tests.fakes.anthropic.refused import Refused
from tests.fakes.anthropic.sdk_types import TypeMismatch, judge_request

VERSION = "2023-06-01"
MOST_BYTES = 32 * 1024 * 1024  # docs/en/api/errors, "Request size limits"
MOST_CACHE_MARKS = 4
LEAST_BUDGET = 1024
TOOL_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")
MEMBERS = frozenset(
    {
        *("model", "max_tokens", "messages", "system", "metadata", "stop_sequences", "stream"),
        *("temperature", "top_p", "top_k", "thinking", "tools", "tool_choice", "output_config"),
        *("cache_control", "container", "inference_geo", "service_tier"),
    }
)
# Members that a beta header allows: docs/en/build-with-claude/context-editing
BETA_MEMBERS = {"context-management-2025-06-27": "context_management"}


def beta_members(headers: Mapping[str, str]) -> frozenset[str]:
    """Return the members that the request's headers allow beside the usual ones."""
    betas = headers.get("anthropic-beta", "").split(",")
    return frozenset(BETA_MEMBERS[beta] for beta in betas if beta in BETA_MEMBERS)


def refuse_headers(headers: Mapping[str, str], right_key: str | None) -> None:
    """Raise Refused for what the address's headers lack. `right_key` None: any key will do."""
    if "x-api-key" not in headers:
        raise Refused("x-api-key header is required", 401)  # n8n-io/n8n#37930
    if right_key is not None and headers["x-api-key"] != right_key:
        raise Refused("invalid x-api-key", 401)  # ezetech/anthropic-gui#85
    if "anthropic-version" not in headers:
        raise Refused("anthropic-version: header is required")  # envoyproxy/ai-gateway#1909
    if headers["anthropic-version"] != VERSION:  # docs/en/api/versioning
        raise Refused(f'anthropic-version: "{headers["anthropic-version"]}" is not served here')


def refuse_body(
    body: dict[str, Any], size_bytes: int, allowed: frozenset[str] = frozenset()
) -> None:
    """Raise Refused for the first thing that the API would not take. allowed: members of betas."""
    if size_bytes > MOST_BYTES:
        raise Refused("Request exceeds the maximum size", 413)  # docs/en/api/errors
    for name in ("model", "max_tokens", "messages"):
        if name not in body:
            raise Refused(f"{name}: Field required")  # themaximalist/llm.js#30 has the style
    for name in body.keys() - MEMBERS - allowed:
        raise Refused(f"{name}: Extra inputs are not permitted")  # qiita Synthorai, of temperature
    if body["model"] == MISSING:
        raise Refused(f"model: {MISSING}", 404)  # reference, "not_found_error"
    model = read_model(body["model"])
    _refuse_max_tokens(body["max_tokens"], model)
    _refuse_sampling(body, model)
    _refuse_thinking(body, model)
    _refuse_tools(body)
    _refuse_output_config(body.get("output_config") or {}, model)
    _refuse_details(body)
    refuse_messages(body, model)
    try:
        judge_request({name: value for name, value in body.items() if name not in allowed})
    except TypeMismatch as error:
        raise Refused(f"The SDK's types do not know this: {error}") from None


def _refuse_max_tokens(most: object, model: Model) -> None:
    if not isinstance(most, int) or isinstance(most, bool):
        raise Refused("max_tokens: Input should be a valid integer")
    # Reference: "minimum 1". Newer models take 0, to fill the prompt cache; no chat means that.
    if most < 1:
        raise Refused("max_tokens: Input should be greater than or equal to 1")
    if most > model.most_tokens:  # anthropics/claude-code#11302
        raise Refused(
            f"max_tokens: {most} > {model.most_tokens}, which is the maximum allowed number of"
            f" output tokens for {model.name}"
        )


def _refuse_sampling(body: dict[str, Any], model: Model) -> None:
    temperature, top_p, top_k = (body.get(name) for name in ("temperature", "top_p", "top_k"))
    for name, value in (("temperature", temperature), ("top_p", top_p), ("top_k", top_k)):
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise Refused(f"{name}: Input should be a valid number")
        if not model.takes_sampling:  # BerriAI/litellm#37868
            raise Refused(f"`{name}` is deprecated for this model.")
    if temperature is not None and not 0 <= temperature <= 1:
        raise Refused("temperature: range: 0..1")  # reference: "Ranges from 0.0 to 1.0"
    if top_p is not None and not 0 <= top_p <= 1:
        raise Refused("top_p: range: -1 or 0..1")  # anthropics/anthropic-sdk-typescript#484
    if top_k is not None and (not isinstance(top_k, int) or top_k < 0):
        raise Refused("top_k: Input should be greater than or equal to 0")  # reference
    if temperature is not None and top_p is not None and not model.takes_both_samplings:
        raise Refused(  # BerriAI/litellm#15097
            "`temperature` and `top_p` cannot both be specified for this model. Please use only"
            " one."
        )


def _refuse_thinking(body: dict[str, Any], model: Model) -> None:
    thinking = body.get("thinking") or {}
    kind = thinking.get("type", "disabled")
    if kind == "disabled":
        return
    if kind == "adaptive" and not model.takes_adaptive:
        raise Refused("adaptive thinking is not supported on this model")  # elizaOS/eliza#16175
    if kind == "enabled":
        _refuse_budget(thinking.get("budget_tokens"), body["max_tokens"], model)
    # Extended thinking, "Feature compatibility": no temperature or top_k, top_p from 0.95 to 1,
    # no forced tool use.
    if body.get("temperature") not in (None, 1, 1.0):  # MartialBE/one-hub#529
        raise Refused("`temperature` may only be set to 1 when thinking is enabled.")
    if body.get("top_p") is not None and body["top_p"] < 0.95:
        raise Refused("`top_p` must be at least 0.95 or unset when thinking is enabled.")
    if body.get("top_k") is not None:
        raise Refused("`top_k` must be unset when thinking is enabled.")
    if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):  # mastra-ai/mastra#7507
        raise Refused("Thinking may not be enabled when tool_choice forces tool use.")


def _refuse_budget(budget: Any, max_tokens: int, model: Model) -> None:
    if not model.takes_budget:  # docs.memberjunction.org UsesAdaptiveThinking, of claude-sonnet-5
        raise Refused(
            '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive"'
            ' and "output_config.effort" to control thinking behavior.'
        )
    if not isinstance(budget, int) or budget < LEAST_BUDGET:  # themaximalist/llm.js#30
        raise Refused(
            "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
        )
    if budget >= max_tokens:  # Silversurfer562 in Smart-AI-Memory/attune-ai#730
        raise Refused("`max_tokens` must be greater than `thinking.budget_tokens`.")


def _refuse_tools(body: dict[str, Any]) -> None:
    tools = body.get("tools") or []
    for place, tool in enumerate(tools):
        where = f"tools.{place}.custom"
        if tool.get("type", "custom") != "custom":  # Anthropic's own, which have no schema
            continue
        if "input_schema" not in tool:
            raise Refused(f"{where}.input_schema: Field required")
        if tool["input_schema"].get("type") != "object":  # reference: type "object" is required
            raise Refused(f"{where}.input_schema.type: Input should be 'object'")
        if len(tool["name"]) > 128:  # anthropics/claude-code#96152
            raise Refused(f"{where}.name: String should have at most 128 characters")
        if not TOOL_NAME.match(tool["name"]):  # home-assistant/core#147760
            raise Refused(f"{where}.name: String should match pattern '{TOOL_NAME.pattern}'")
    names = [tool["name"] for tool in tools]
    if len(set(names)) < len(names):
        raise Refused("tools: Tool names must be unique.")
    _refuse_tool_choice(body.get("tool_choice"), names)


def _refuse_tool_choice(choice: dict[str, Any] | None, names: list[str]) -> None:
    if choice is None:
        return
    if not names:
        raise Refused("tool_choice may only be specified while providing tools.")
    if choice.get("type") == "tool" and choice.get("name") not in names:
        raise Refused(f"Tool '{choice.get('name')}' not found in provided tools")


def _refuse_output_config(config: dict[str, Any], model: Model) -> None:
    if config.get("effort") is not None and not model.takes_effort:  # elizaOS/eliza#16175
        raise Refused("This model does not support the effort parameter.")
    if config.get("format") is None:
        return
    if not model.takes_format:  # docs/en/build-with-claude/structured-outputs
        raise Refused(f"'{model.name}' does not support output format.")
    _refuse_open_objects(config["format"].get("schema"))


def _refuse_open_objects(schema: object) -> None:
    """Structured outputs, "JSON Schema limitations": objects must be closed."""
    if isinstance(schema, dict):
        if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
            raise Refused(
                "output_config.format.schema: For 'object' type, 'additionalProperties' must be"
                " explicitly set to false"
            )
        for value in schema.values():
            _refuse_open_objects(value)
    elif isinstance(schema, list):
        for value in schema:
            _refuse_open_objects(value)


def _refuse_details(body: dict[str, Any]) -> None:
    for sequence in body.get("stop_sequences") or ():
        if not sequence:  # MegaGrindStone/mcp-web-ui#5
            raise Refused("stop_sequences: each stop sequence must be non-empty")
        if not sequence.strip():  # BerriAI/litellm#3286
            raise Refused("stop_sequences: each stop sequence must contain non-whitespace")
    user_id = (body.get("metadata") or {}).get("user_id") or ""
    if len(user_id) > 256:  # reference: metadata.user_id, "Maximum length: 256"
        raise Refused("metadata.user_id: String should have at most 256 characters")
    if isinstance(body.get("system"), list):
        refuse_text_blocks(body["system"], "system")
    elif body.get("system") == "":
        raise Refused("system: text content blocks must be non-empty")
    marks = _count_marks(body)
    if marks > MOST_CACHE_MARKS:  # agentjido/req_llm#480
        raise Refused(f"A maximum of 4 blocks with cache_control may be provided. Found {marks}.")


def _count_marks(value: object) -> int:
    if isinstance(value, dict):
        own = value.get("cache_control") is not None
        return own + sum(_count_marks(v) for name, v in value.items() if name != "input_schema")
    return sum(map(_count_marks, value)) if isinstance(value, list) else 0
