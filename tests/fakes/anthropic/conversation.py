"""What the Messages API refuses of the messages: roles, empty text, pictures, pairs of tool_use and
tool_result, thinking that is missing, a prefilled answer. Sources as in requests.py."""

from __future__ import annotations

import base64
import binascii
import re
from typing import Any

from tests.fakes.anthropic.dialect import REDACTED, signature_of
from tests.fakes.anthropic.models import Model
from tests.fakes.anthropic.refused import Refused

TOOL_ID = re.compile(r"^[a-zA-Z0-9_-]+$")
PICTURES = {
    "image/jpeg": (b"\xff\xd8\xff",),
    "image/png": (b"\x89PNG\r\n\x1a\n",),
    "image/gif": (b"GIF87a", b"GIF89a"),
    "image/webp": (b"RIFF",),
}
MOST_PICTURE_CHARS = 5 * 1024 * 1024
THOUGHT = ("thinking", "redacted_thinking")
Blocks = list[dict[str, Any]]


def refuse_messages(body: dict[str, Any], model: Model) -> None:
    """Raise Refused for the first thing in the messages that the API would not take."""
    messages = body["messages"]
    if not messages:
        raise Refused("messages: at least one message is required")
    _refuse_roles([message.get("role") for message in messages])
    turns = [(message["role"], _blocks_of(message)) for message in messages]
    for place, (_, blocks) in enumerate(turns):
        # crewAIInc/crewAI#4429
        if not blocks and not (place == len(turns) - 1 and turns[place][0] == "assistant"):
            raise Refused(
                f"messages.{place}: all messages must have non-empty content except for the"
                " optional final assistant message"
            )
        refuse_text_blocks(blocks, "messages", place)
        for number, block in enumerate(blocks):
            _refuse_block(block, f"messages.{place}.content.{number}")
        if blocks and turns[place][0] == "assistant" and blocks[-1]["type"] in THOUGHT:
            raise Refused(  # tailcallhq/forgecode#2107
                f"messages.{place}: The final block in an assistant message cannot be `thinking`."
            )
    _refuse_pairs(_merged(turns))
    _refuse_last(turns, body, model)


def _refuse_roles(roles: list[object]) -> None:
    for role in roles:
        # Maol-1997/cursor-claude-connector#3. Some newer models take the role; most do not.
        if role == "system":
            raise Refused(
                'messages: Unexpected role "system". The Messages API accepts a top-level `system`'
                ' parameter, not "system" as an input message role.'
            )
        if role not in ("user", "assistant"):
            raise Refused(
                f'messages: Unexpected role "{role}". Allowed roles are "user" or "assistant".'
            )
    if roles[0] != "user":  # lobehub/lobehub#1601
        raise Refused('messages: first message must use the "user" role')


def _blocks_of(message: dict[str, Any]) -> Blocks:
    content = message.get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    if not isinstance(content, list):
        raise Refused("messages: content: Input should be a valid list")
    return content


def refuse_text_blocks(blocks: Blocks, where: str, place: int = 0) -> None:
    for number, block in enumerate(blocks):
        if block.get("type") != "text":
            continue
        text = block.get("text", "")
        if not text and block.get("cache_control"):  # anthropics/claude-code#62379
            raise Refused(
                f"{where}.{place}.content.{number}.text: cache_control cannot be set for empty"
                " text blocks"
            )
        if not text:  # anthropics/claude-code#59812
            raise Refused(f"{where}: text content blocks must be non-empty")
        if not text.strip():  # anthropics/claude-code#23440
            raise Refused(f"{where}: text content blocks must contain non-whitespace text")


def _refuse_block(block: dict[str, Any], where: str) -> None:
    kind = block.get("type")
    if kind == "image":
        _refuse_picture(block["source"], f"{where}.image.source")
    elif kind == "tool_use":
        _refuse_id(block.get("id", ""), f"{where}.tool_use.id")
        if not isinstance(block.get("input"), dict):  # reference: input is an object
            raise Refused(f"{where}.tool_use.input: Input should be a valid dictionary")
    elif kind in THOUGHT:
        _refuse_thought(block, where)
    elif kind == "tool_result":
        _refuse_id(block.get("tool_use_id", ""), f"{where}.tool_result.tool_use_id")
        inner = block.get("content")
        for number, part in enumerate(inner if isinstance(inner, list) else ()):
            _refuse_block(part, f"{where}.tool_result.content.{number}")
        refuse_text_blocks(inner if isinstance(inner, list) else [], "messages")


def _refuse_thought(block: dict[str, Any], where: str) -> None:
    if block["type"] == "redacted_thinking":
        if block.get("data") != REDACTED["data"]:
            raise Refused(f"{where}: Invalid `data` in `redacted_thinking` block")
    elif block.get("signature") != signature_of(block.get("thinking", "")):
        # anthropics/claude-code#10627
        raise Refused(f"{where}: Invalid `signature` in `thinking` block")


def _refuse_id(value: str, where: str) -> None:
    if not TOOL_ID.match(value):  # BerriAI/litellm#21114
        raise Refused(f"{where}: String should match pattern '{TOOL_ID.pattern}'")


def _refuse_picture(source: dict[str, Any], where: str) -> None:
    if source.get("type") == "url":
        if not str(source.get("url")).startswith("https://"):  # docs/en/build-with-claude/vision
            raise Refused(f"{where}.url.url: Only HTTPS URLs are supported.")
        return
    kind, data = source.get("media_type"), source.get("data", "")
    if kind not in PICTURES:  # anthropics/claude-code#8184
        raise Refused(
            f"{where}.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or"
            " 'image/webp'"
        )
    if len(data) > MOST_PICTURE_CHARS:  # lobehub/lobehub#14711: of the base64, not of the file
        raise Refused(
            f"{where}.base64: image exceeds 5 MB maximum: {len(data)} bytes > 5242880 bytes"
        )
    try:
        picture = base64.b64decode(data, validate=True)
    except binascii.Error:
        raise Refused(f"{where}.base64: invalid base64 data") from None
    if not picture.startswith(PICTURES[kind]):  # anthropics/claude-code#6300
        raise Refused(f"{where}.base64.data: Image does not match the provided media type {kind}")


def _merged(turns: list[tuple[str, Blocks]]) -> list[tuple[str, Blocks]]:
    """Return the turns as the API sees them. Reference: "Consecutive user or assistant turns in
    your request will be combined into a single turn."
    """
    merged: list[tuple[str, Blocks]] = []
    for role, blocks in turns:
        if merged and merged[-1][0] == role:
            merged[-1] = (role, merged[-1][1] + blocks)
        else:
            merged.append((role, list(blocks)))
    return merged


def _refuse_pairs(turns: list[tuple[str, Blocks]]) -> None:
    called: list[str] = []
    ids = [block["id"] for _, blocks in turns for block in blocks if block["type"] == "tool_use"]
    if len(set(ids)) < len(ids):
        raise Refused("messages: `tool_use` ids must be unique")
    for place, (role, blocks) in enumerate(turns):
        if role == "user":
            _refuse_results(blocks, called, place)
            called = []
            continue
        _refuse_server_results(blocks, place)
        called = [block["id"] for block in blocks if block["type"] == "tool_use"]
    if called:
        _refuse_unanswered(called, len(turns) - 1)


def _refuse_server_results(blocks: Blocks, place: int) -> None:
    """Raise Refused for a result of a tool of the API's own without a call before it."""
    called: list[str] = []
    for number, block in enumerate(blocks):
        kind = block["type"]
        if kind in ("server_tool_use", "mcp_tool_use"):
            called.append(block["id"])
        elif kind.endswith("_tool_result") and block["tool_use_id"] not in called:
            raise Refused(  # anthropics/claude-code#95406
                f"messages.{place}.content.{number}: unexpected `tool_use_id` found in `{kind}`"
                f" blocks: {block['tool_use_id']}. Each `{kind}` block must have a corresponding"
                " `server_tool_use` block before it."
            )


def _refuse_results(blocks: Blocks, called: list[str], place: int) -> None:
    # "Handle tool calls": results come first in the content, text after them.
    leading = 0
    while leading < len(blocks) and blocks[leading]["type"] == "tool_result":
        leading += 1
    answered = [block["tool_use_id"] for block in blocks[:leading]]
    for number, block in enumerate(blocks):
        if block["type"] == "tool_result" and block["tool_use_id"] not in called:
            raise Refused(  # anthropics/claude-code#18947
                f"messages.{place}.content.{number}: unexpected `tool_use_id` found in"
                f" `tool_result` blocks: {block['tool_use_id']}. Each `tool_result` block must have"
                " a corresponding `tool_use` block in the previous message."
            )
    if len(set(answered)) < len(answered):
        raise Refused(
            f"messages.{place}: each tool_use must have a single result. Found multiple"
            " `tool_result` blocks with one id."
        )
    if missing := [name for name in called if name not in answered]:
        _refuse_unanswered(missing, place - 1)


def _refuse_unanswered(missing: list[str], place: int) -> None:
    raise Refused(  # anthropics/claude-code#8210
        f"messages.{place}: `tool_use` ids were found without `tool_result` blocks immediately"
        f" after: {', '.join(missing)}. Each `tool_use` block must have a corresponding"
        " `tool_result` block in the next message."
    )


def _refuse_last(turns: list[tuple[str, Blocks]], body: dict[str, Any], model: Model) -> None:
    thinking = (body.get("thinking") or {}).get("type", "disabled")
    role, blocks = turns[-1]
    if role == "assistant":
        if not model.takes_prefill or thinking != "disabled":  # anomalyco/opencode#13768
            raise Refused(
                "This model does not support assistant message prefill. The conversation must end"
                " with a user message."
            )
        text = blocks[-1].get("text", "") if blocks else ""
        if text != text.rstrip():  # tailcallhq/forgecode#1872
            raise Refused("messages: final assistant content cannot end with trailing whitespace")
    if thinking == "enabled":
        _refuse_lost_thoughts(_merged(turns))
    elif thinking == "disabled" and model.generation < (5, 0):
        _refuse_thoughts(_merged(turns))


def _refuse_thoughts(turns: list[tuple[str, Blocks]]) -> None:
    """Models that do not think take no thoughts of the last answer (tailcallhq/forgecode#1853)."""
    spoken = [place for place, (role, _) in enumerate(turns) if role == "assistant"]
    if not spoken:
        return
    for number, block in enumerate(turns[spoken[-1]][1]):
        if block["type"] in THOUGHT:
            raise Refused(
                f"messages.{spoken[-1]}.content.{number}: When thinking is disabled, an"
                " `assistant` message in the final position cannot contain `thinking`. To use"
                " thinking blocks, enable `thinking` in your request."
            )


def _refuse_lost_thoughts(turns: list[tuple[str, Blocks]]) -> None:
    """In the midst of tool use, thinking comes first (pydantic/pydantic-ai#2075)."""
    if not any(block["type"] == "tool_result" for block in turns[-1][1]):
        return
    found = turns[-2][1][0]["type"]
    if found not in THOUGHT:
        raise Refused(
            f"messages.{len(turns) - 2}.content.0.type: Expected `thinking` or"
            f" `redacted_thinking`, but found `{found}`. When `thinking` is enabled, a final"
            " `assistant` message must start with a thinking block (preceeding the lastmost set of"
            " `tool_use` and `tool_result` blocks). To avoid this requirement, disable `thinking`."
        )
