"""What kinds of OpenAI's dialect spell differently, from the caller's spelling to theirs.

What a kind does not take is left out, and named by `lost`; what it cannot be told, and would
change the answer, is refused by `check_words`.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from gateway.core.chat import ChatCall
from gateway.core.errors import UnsupportedParameter
from gateway.providers.catalogue import BY_NAME, ProviderKind
from gateway.providers.offered_tools import NO_CUSTOM_TOOLS
from gateway.providers.openai_compatible import cache_marks, conversations, families
from gateway.providers.openai_compatible.messages import lost_in_messages, respell_messages
from gateway.snapshot.types import TargetRecord

LIMITS = ("max_tokens", "max_completion_tokens")
# To leave these out would change what is answered, not only how.
REFUSED = frozenset({"functions", "function_call", "tools"})
# Any JSON object, where there is no other word for it.
_ANY_OBJECT = (
    b'{"type":"json_schema","json_schema":'
    b'{"name":"response","schema":{"type":"object"},"strict":false}}'
)
_NULL = b"null"
_encode = msgspec.json.encode


class _Named(msgspec.Struct):
    name: str = ""


class _Tool(msgspec.Struct):
    function: _Named = msgspec.field(default_factory=_Named)


class _Allowed(msgspec.Struct):
    mode: str
    tools: list[_Tool]


class _Choice(msgspec.Struct):
    type: str
    allowed_tools: _Allowed | None = None


class _Typed(msgspec.Struct):
    type: str


_read_choice = msgspec.json.Decoder(str | _Choice | None).decode
_read_format = msgspec.json.Decoder(_Typed | None).decode
_read_tools = msgspec.json.Decoder(list[msgspec.Raw] | None).decode
_read_tool_type = msgspec.json.Decoder(_Typed).decode
_read_tool = msgspec.json.Decoder(_Tool).decode


def lost(call: ChatCall, target: TargetRecord) -> set[str]:
    """Return the names of what a target does not take, raising UnsupportedParameter for what must
    not be dropped."""
    kind, payload = BY_NAME[target.kind], call.payload
    names = set() if families.is_plain(kind) else families.lost(payload.fields, target)
    for name in REFUSED.intersection(names):
        raise UnsupportedParameter(f"{call.facts.model} does not support {name}.", param=name)
    if payload.has("tools") and not kind.takes_functions:
        _check_tools(payload.fields["tools"])
    names |= lost_in_messages(call, kind)
    # Whether to reason can be told, and not how much.
    is_off = payload.fields.get("reasoning_effort") == b'"none"'
    if is_off and kind.thinking_switch and not kind.takes_effort:
        names.discard("reasoning_effort")
    if payload.has("tool_choice"):
        _check_choice(call, kind)
    if payload.has("response_format") and _format_of(payload.fields) not in ("text", None):
        names |= _lost_format(call, kind)
    return names


def _check_tools(raw: bytes) -> None:
    """Raise UnsupportedParameter for a custom tool: whoever does not take functions as they were
    before tools does not take these either."""
    if b'"custom"' in raw:
        for index, tool in enumerate(_read_tools(raw) or ()):
            if _read_tool_type(tool).type == "custom":
                raise UnsupportedParameter(NO_CUSTOM_TOOLS, param=f"tools[{index}]")


def limit_to_send(call: ChatCall, kind: ProviderKind, cap_tokens: int | None) -> int | None:
    """Return the limit that goes in the place of the caller's, None when nothing is replaced."""
    if cap_tokens is not None:
        return cap_tokens
    payload = call.payload
    if not payload.has(LIMITS[1]) and (kind.takes_both_limits or kind.limit_field == LIMITS[0]):
        return None  # as most calls are
    given = [name for name in LIMITS if payload.has(name)]
    # Two limits are one too many for most providers: the smaller goes alone.
    if len(given) == 2 or (given and not kind.takes_both_limits and given[0] != kind.limit_field):
        return payload.max_tokens
    return None


def place_limit(call: ChatCall, kind: ProviderKind, limit_tokens: int) -> dict[str, bytes | None]:
    """Return both spellings of the limit, one of them left out."""
    name = kind.limit_field
    if kind.takes_both_limits:
        name = next((given for given in LIMITS if call.payload.has(given)), name)
    said: dict[str, bytes | None] = dict.fromkeys(LIMITS)
    said[name] = b"%d" % limit_tokens
    return said


def respell(
    call: ChatCall, target: TargetRecord, ours: Mapping[str, bytes | None]
) -> dict[str, bytes | None]:
    """Return the fields that this target does not take, takes under another name, or spelled
    differently. ours: those whose value is the gateway's already."""
    kind = BY_NAME[target.kind]
    fields: dict[str, bytes | None] = {**call.payload.fields, **ours}
    said: dict[str, bytes | None] = {}
    if not families.is_plain(kind):
        said |= dict.fromkeys(families.left_out(fields, target))
    said |= _respell_effort(call, fields, target)
    fields |= said
    said |= _respell_choice(fields, kind)
    if "json_object" not in kind.response_formats and _format_of(fields) == "json_object":
        has_schema = "json_schema" in kind.response_formats
        said["response_format"] = _ANY_OBJECT if has_schema else None
    for name, theirs in kind.renames:
        if name in fields:
            value = fields[name]
            said[name] = None
            if value not in (None, _NULL) and not call.payload.has(theirs):
                said[theirs] = value
    if kind.checks_conversations and (tools := (fields | said).get("tools")) is not None:
        said["tools"] = conversations.complete_tools(tools) or tools
    messages = respell_messages(call, kind)
    if messages is not None:
        said["messages"] = messages
    if cache_marks.are_lost(call, kind):
        said |= cache_marks.without_marks({**call.payload.fields, **ours, **said})
    return said


def _respell_effort(
    call: ChatCall, fields: Mapping[str, bytes | None], target: TargetRecord
) -> dict[str, bytes | None]:
    kind, raw = BY_NAME[target.kind], fields.get("reasoning_effort")
    if not kind.takes_effort:  # and so it has been dropped
        raw = call.payload.fields.get("reasoning_effort", raw)
    if raw is None or raw == _NULL:
        return {}
    asked = msgspec.json.decode(raw, type=str)
    if not kind.takes_effort:
        return {"reasoning_effort": None} | switch_thinking(kind, is_on=asked != "none")
    family = families.family_of(target.kind, target.native_model)
    if family.efforts and "reasoning_effort" not in family.drops:
        return {"reasoning_effort": _encode(families.nearest_effort(asked, family))}
    return {}


def switch_thinking(kind: ProviderKind, *, is_on: bool) -> dict[str, bytes | None]:
    """Return the fields that switch reasoning on or off; none where it has no switch."""
    if kind.thinking_switch == "thinking":
        return {"thinking": _encode({"type": "enabled" if is_on else "disabled"})}
    if kind.thinking_switch == "reasoning":
        return {"reasoning": _encode({"enabled": is_on})}
    if kind.thinking_switch:
        return {kind.thinking_switch: b"true" if is_on else b"false"}
    return {}


def _check_choice(call: ChatCall, kind: ProviderKind) -> None:
    """Raise UnsupportedParameter for a choice among tools that the kind cannot be told."""
    choice = _read_choice(call.payload.fields["tool_choice"])
    if isinstance(choice, _Choice):
        word = choice.type
        if word == "allowed_tools" and choice.allowed_tools and word not in kind.tool_choices:
            word = choice.allowed_tools.mode
    else:
        word = choice or "auto"
    if word not in kind.tool_choices and word in ("required", "function"):
        said = "a named tool" if word == "function" else f'"{word}"'
        raise UnsupportedParameter(
            f"{call.facts.model} does not support {said} as tool_choice.", param="tool_choice"
        )


def _respell_choice(
    fields: Mapping[str, bytes | None], kind: ProviderKind
) -> dict[str, bytes | None]:
    raw = fields.get("tool_choice")
    if raw in (None, _NULL):
        return {}
    choice = _read_choice(raw or _NULL)
    if choice == "none" and "none" not in kind.tool_choices:
        return {"tools": None, "tool_choice": None, "parallel_tool_calls": None}
    if not isinstance(choice, _Choice) or choice.allowed_tools is None:
        return {}
    if "allowed_tools" in kind.tool_choices:
        return {}
    names = {tool.function.name for tool in choice.allowed_tools.tools}
    tools = [
        tool
        for tool in _read_tools(fields.get("tools") or _NULL) or ()
        if _read_tool(tool).function.name in names
    ]
    return {"tools": _encode(tools), "tool_choice": _encode(choice.allowed_tools.mode)}


def _format_of(fields: Mapping[str, bytes | None]) -> str | None:
    wanted = _read_format(fields.get("response_format") or _NULL)
    return None if wanted is None else wanted.type


def _lost_format(call: ChatCall, kind: ProviderKind) -> set[str]:
    """Return the field where it has to be left out: that the answer is to be JSON stands in the
    prompt, too. Raises UnsupportedParameter for a schema that the kind cannot be told."""
    wanted = _format_of(call.payload.fields)
    if wanted in kind.response_formats:
        return set()
    if wanted == "json_schema":
        raise UnsupportedParameter(
            f"{call.facts.model} does not support a JSON Schema for the response.",
            param="response_format",
        )
    return set() if "json_schema" in kind.response_formats else {"response_format"}
