"""What real providers of OpenAI's dialect refuse. The first part of the address says which one is
meant: /mistral/v1/chat/completions is strict as Mistral is, /v1/chat/completions takes all.

The rules are taken from the providers' documentation, whose addresses stand beside the rows of
gateway.providers.catalogue; nothing is read from there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import msgspec

from tests.fakes import mistral, tgi
from tests.fakes.refused import Refused

__all__ = ["Refused", "refuse_unknown"]
_EVERYONE = frozenset({"model", "messages", "stream", "stream_options", "n"})
_USUAL = _EVERYONE | {"temperature", "top_p", "stop", "tools", "tool_choice", "response_format"}
_PENALTIES = frozenset({"frequency_penalty", "presence_penalty"})
_LOGPROBS = frozenset({"logprobs", "top_logprobs"})
_GROQ = _USUAL | _PENALTIES
_GROQ |= {"max_completion_tokens", "max_tokens", "parallel_tool_calls", "reasoning_effort", "seed"}
_GROQ |= {"service_tier", "user", "metadata", "store", "function_call", "functions"}
_CEREBRAS = _USUAL | _LOGPROBS | {"max_completion_tokens", "seed", "user", "reasoning_effort"}
_PERPLEXITY = _USUAL | _PENALTIES | {"max_tokens", "top_k", "reasoning_effort"}
_PERPLEXITY |= {"web_search_options"}
_SAMBANOVA = _USUAL | {"max_tokens", "top_k", "parallel_tool_calls", "reasoning_effort"}
_ZAI = _USUAL | {"max_tokens", "user_id", "thinking"}
_MINIMAX = _USUAL | {"max_completion_tokens", "max_tokens"}


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What one provider refuses with 400."""

    # All that it takes; empty where it does not look.
    takes: frozenset[str] = frozenset()
    refuses: frozenset[str] = frozenset()
    one_choice: bool = False
    takes_developer: bool = True
    takes_names: bool = True
    # An empty list in the place of a message's content.
    takes_no_parts: bool = True
    # In messages.
    refuses_fields: frozenset[str] = frozenset()
    tool_choices: frozenset[str] = frozenset({"none", "auto", "required", "function"})
    formats: frozenset[str] = frozenset({"text", "json_object", "json_schema"})


_DETAILS = frozenset({"reasoning_details"})
_REASONING = frozenset({"reasoning", "reasoning_content", *_DETAILS})
_AUTO = frozenset({"none", "auto"})
_NO_SCHEMA = frozenset({"text", "json_object"})
_NO_COMPLETION = frozenset({"max_completion_tokens"})
_NO_GROQ_PROBS = _LOGPROBS | {"logit_bias"}
_OPENAI_CHOICES = frozenset({"none", "auto", "required", "function", "allowed_tools"})

RULES = {
    "tgi": Rules(formats=frozenset({"text", "json", "regex"})),
    "openai": Rules(
        refuses=frozenset({"max_tokens"}),
        refuses_fields=_REASONING,
        takes_no_parts=False,
        tool_choices=_OPENAI_CHOICES,
    ),
    "azure": Rules(
        refuses=frozenset({"max_tokens"}),
        refuses_fields=_REASONING,
        takes_no_parts=False,
        tool_choices=_OPENAI_CHOICES,
    ),
    "together": Rules(refuses=_NO_COMPLETION, takes_developer=False),
    "hyperbolic": Rules(refuses=_NO_COMPLETION, takes_developer=False),
    "fireworks": Rules(
        takes_developer=False,
        formats=frozenset({"text", "json_object", "json_schema", "grammar"}),
    ),
    "sglang": Rules(
        takes_developer=False,
        formats=frozenset({"text", "json_object", "json_schema", "structural_tag"}),
    ),
    "deepseek": Rules(
        refuses=_NO_COMPLETION,
        takes_developer=False,
        one_choice=True,
        refuses_fields=_DETAILS | {"reasoning"},
        formats=_NO_SCHEMA,
    ),
    "groq": Rules(
        takes=_GROQ - _NO_GROQ_PROBS,
        one_choice=True,
        takes_developer=False,
        takes_names=False,
        refuses_fields=_DETAILS | {"reasoning_content"},
    ),
    "perplexity": Rules(
        takes=_PERPLEXITY - {"tools", "tool_choice", "stream_options", "n"},
        takes_developer=False,
        takes_names=False,
        refuses_fields=_REASONING,
        formats=frozenset({"text", "json_schema"}),
    ),
    "cerebras": Rules(
        takes=_CEREBRAS,
        one_choice=True,
        takes_developer=False,
        refuses_fields=_DETAILS | {"reasoning_content"},
    ),
    "sambanova": Rules(
        takes=_SAMBANOVA, one_choice=True, takes_developer=False, refuses_fields=_REASONING
    ),
    "moonshot": Rules(
        refuses=_LOGPROBS | {"logit_bias", "seed", "functions"},
        takes_developer=False,
        refuses_fields=_DETAILS | {"reasoning"},
        tool_choices=_AUTO,
        formats=_NO_SCHEMA,
    ),
    "zai": Rules(
        takes=_ZAI - {"stream_options", "n"},
        takes_developer=False,
        takes_names=False,
        refuses_fields=_DETAILS | {"reasoning"},
        tool_choices=frozenset({"auto"}),
        formats=_NO_SCHEMA,
    ),
    "dashscope": Rules(
        refuses=frozenset({"frequency_penalty", "logit_bias", "reasoning_effort"}),
        takes_developer=False,
        refuses_fields=_DETAILS | {"reasoning"},
        tool_choices=_AUTO | {"function"},
    ),
    "minimax": Rules(
        takes=_MINIMAX - {"response_format", "stop"},
        one_choice=True,
        takes_developer=False,
        refuses_fields=_REASONING,
        tool_choices=_AUTO,
    ),
    "github_models": Rules(
        one_choice=True,
        refuses=_LOGPROBS | {"logit_bias"},
        takes_names=False,
        refuses_fields=_REASONING,
        tool_choices=_AUTO | {"required"},
    ),
    "lm_studio": Rules(
        one_choice=True, takes_developer=False, formats=frozenset({"text", "json_schema"})
    ),
}
# Models of OpenAI's that reason, and what they refuse, as platform.openai.com/docs/guides/reasoning
# and /guides/latest-model have it.
_REASONING_MODEL = re.compile(r"(.*/)?(o\d|gpt-5(?!-chat))")
_AT_EFFORT_NONE = re.compile(r"(.*/)?gpt-5\.[1-4]")
_FIXED = {"temperature": 1, "top_p": 1, "frequency_penalty": 0, "presence_penalty": 0}


@dataclass
class _Body:
    members: dict[str, Any]
    messages: list[dict[str, Any]] = field(init=False)

    def __post_init__(self) -> None:
        if "messages" not in self.members:
            raise Refused("Missing required parameter: 'messages'.")
        self.messages = self.members["messages"]


def refuse_unknown(path: str, body: bytes) -> None:
    """Raise Refused for what the provider of this address does not take."""
    provider = path.split("/", 2)[1]
    if provider == "v1":
        return
    asked = _Body(msgspec.json.decode(body))
    if provider == "mistral":
        mistral.refuse_body(path, asked.members)
        return
    rules = RULES.get(provider, Rules())
    _refuse_members(asked.members, rules)
    _refuse_messages(asked.messages, rules)
    if provider == "tgi":
        tgi.refuse_body(asked.members)
    if provider in ("openai", "azure", "github_models"):
        _refuse_for_model(asked.members)
    if provider == "deepseek" and any(map(_has_image, asked.messages)):
        raise Refused(
            "Failed to deserialize the JSON body into the target type: messages[0]: unknown variant"
            " `image_url`, expected `text` at line 1 column 98"
        )


def _refuse_members(members: dict[str, Any], rules: Rules) -> None:
    extra = members.keys() - rules.takes if rules.takes else members.keys() & rules.refuses
    if extra:
        raise Refused(f"Extra inputs are not permitted: {', '.join(sorted(extra))}.")
    if rules.one_choice and members.get("n") not in (None, 1):
        raise Refused("'n' : number must be at most 1")
    choice = members.get("tool_choice")
    word = choice["type"] if isinstance(choice, dict) else choice or "auto"
    if word not in rules.tool_choices:
        raise Refused(f"Invalid tool_choice: {word}.")
    wanted = (members.get("response_format") or {}).get("type", "text")
    if wanted not in rules.formats:
        raise Refused(f"'response_format.type' must not be '{wanted}'.")


def _refuse_messages(messages: list[dict[str, Any]], rules: Rules) -> None:
    for message in messages:
        if message.get("role") == "developer" and not rules.takes_developer:
            raise Refused("Unknown role: 'developer'.")
        if message.get("content") == [] and not rules.takes_no_parts:
            raise Refused("Invalid 'messages.content': empty array.")
        unknown = message.keys() & rules.refuses_fields
        if "name" in message and not rules.takes_names:
            unknown |= {"name"}
        if unknown:
            raise Refused(f"Unknown parameter: 'messages.{min(unknown)}'.")


def _refuse_for_model(members: dict[str, Any]) -> None:
    model = members.get("model", "")
    if not _REASONING_MODEL.match(model):
        if "reasoning_effort" in members and model.startswith("gpt-4"):
            raise Refused("Unrecognized request argument supplied: reasoning_effort")
        return
    refused = {*_FIXED, "logprobs", "top_logprobs", "logit_bias", "max_tokens", "prediction"}
    if _AT_EFFORT_NONE.match(model) and members.get("reasoning_effort", "none") == "none":
        refused -= {"temperature", "top_p", "logprobs", "top_logprobs"}
    if re.match(r"(.*/)?(o[3-9]|gpt-5)", model):
        refused.add("stop")
    if re.match(r"(.*/)?o\d", model):
        refused.add("parallel_tool_calls")
    for name in sorted(refused & members.keys()):
        if name not in _FIXED or members[name] != _FIXED[name]:
            raise Refused(f"Unsupported parameter: '{name}' is not supported with this model.")


def _has_image(message: dict[str, Any]) -> bool:
    content = message.get("content")
    return isinstance(content, list) and any(part["type"] == "image_url" for part in content)
