"""What a call can ask for beside its conversation, in each format, with values that are no default.

Beside each option: its name in `x-dropped-params`, where that is another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.flows.pairs.conversation import ANSWER_SCHEMA, TOOL, TOOL_SCHEMA

Body = dict[str, Any]


@dataclass(frozen=True)
class Option:
    members: Body
    # Its name in `x-dropped-params`, where it was left out.
    known_as: str
    # What else has to be there for the option to make sense.
    beside: Body


def option(name: str, value: Any, *, known_as: str = "", beside: Body | None = None) -> Option:
    return Option({name: value}, known_as or name, beside or {})


CHAT_TOOLS = {
    "tools": [{"type": "function", "function": {"name": TOOL, "parameters": TOOL_SCHEMA}}]
}
MESSAGES_TOOLS = {"tools": [{"name": TOOL, "input_schema": TOOL_SCHEMA}]}
RESPONSES_TOOLS = {"tools": [{"type": "function", "name": TOOL, "parameters": TOOL_SCHEMA}]}
SCHEMA = {"type": "json_schema", "schema": ANSWER_SCHEMA}

OF_CHAT_COMPLETIONS = (
    option("temperature", 0.37),
    option("top_p", 0.83),
    option("top_k", 17),
    option("min_p", 0.07),
    option("seed", 90210),
    option("frequency_penalty", 0.31),
    option("presence_penalty", 0.29),
    option("repetition_penalty", 1.13),
    option("stop", ["HALT!"]),
    option("logit_bias", {"1234": 7}),
    option("logprobs", True),
    option("top_logprobs", 3, beside={"logprobs": True}),
    option("user", "caller-77"),
    option("metadata", {"team": "seven"}),
    option("ignore_eos", True),
    option("parallel_tool_calls", False, beside=CHAT_TOOLS),
    option("tool_choice", "required", beside=CHAT_TOOLS),
    option("reasoning_effort", "high"),
    option("verbosity", "low"),
    option("service_tier", "flex"),
    option("safety_identifier", "person-7"),
    option("prompt_cache_key", "cache-7"),
    option("prompt_cache_retention", "24h"),
    option("store", True),
    option("prediction", {"type": "content", "content": "Perhaps this."}),
    option("modalities", ["text"]),
    option("response_format", {"type": "json_object"}),
    option("guided_json", ANSWER_SCHEMA),
    option("guided_regex", "[a-z]+7"),
    option("guided_grammar", 'root ::= "a"'),
    option("chat_template_kwargs", {"enable_thinking": False}),
    option("web_search_options", {"search_context_size": "low"}),
)
OF_MESSAGES = (
    option("temperature", 0.37),
    option("top_p", 0.83),
    option("top_k", 17),
    option("stop_sequences", ["HALT!"], known_as="stop_sequences"),
    option("metadata", {"user_id": "caller-77"}, known_as="metadata.user_id"),
    option("service_tier", "standard_only"),
    option("thinking", {"type": "enabled", "budget_tokens": 2000}),
    option("output_config", {"format": SCHEMA}),
    option("output_config", {"effort": "low"}, known_as="output_config.effort"),
    option("tool_choice", {"type": "any"}, beside=MESSAGES_TOOLS),
    option(
        "tool_choice",
        {"type": "auto", "disable_parallel_tool_use": True},
        known_as="tool_choice.disable_parallel_tool_use",
        beside=MESSAGES_TOOLS,
    ),
    option("cache_control", {"type": "ephemeral"}),
    option("container", "container_7"),
    option("speed", "fast"),
    option("inference_geo", "us"),
    option("context_management", {"edits": [{"type": "clear_tool_uses_20250919"}]}),
)
OF_RESPONSES = (
    option("temperature", 0.37),
    option("top_p", 0.83),
    option("instructions", "Be brief."),
    option("top_logprobs", 3),
    option("include", ["message.output_text.logprobs"], known_as="include"),
    option("user", "caller-77"),
    option("safety_identifier", "person-7"),
    option("prompt_cache_key", "cache-7"),
    option("prompt_cache_retention", "24h"),
    option("service_tier", "flex"),
    option("truncation", "auto"),
    option("reasoning", {"effort": "high"}, known_as="reasoning.effort"),
    option("text", {"verbosity": "low"}, known_as="text.verbosity"),
    option("text", {"format": SCHEMA | {"name": "weather"}}),
    option("tool_choice", "required", beside=RESPONSES_TOOLS),
    option("parallel_tool_calls", False, beside=RESPONSES_TOOLS),
    option("background", True),
    option("conversation", "conv_7"),
    option("prompt", {"id": "pmpt_7"}),
)
