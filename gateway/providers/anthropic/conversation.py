"""Messages in OpenAI's order to Anthropic's turns.

Instructions are lifted out, calls of tools and their results become blocks, and neighbours of one
role become one turn, in which results come first: the API takes nothing between a call and its
result. Text without a visible character is left out, for the API refuses it. So is reasoning of
other models; Claude's own goes back as it came, signed or encrypted, ahead of what was said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from gateway.core.chat import Message, Reasoning, ToolCall, ToolResult
from gateway.core.reasoning import ANTHROPIC
from gateway.core.tool_arguments import read_arguments
from gateway.providers.anthropic.content import Block, mark, tidy_name, write_blocks
from gateway.providers.turns import Turns, with_user

BETWEEN = "\n\n"
THOUGHTS = ("thinking", "redacted_thinking")
MAX_ID_CHARS = 256
_NOT_IN_ID = re.compile(r"[^a-zA-Z0-9_-]")


class Conversation(msgspec.Struct, kw_only=True):
    """What a prompt comes to. system: one text, or blocks where the cache is marked."""

    system: str | list[Block]
    turns: Turns


def translate(messages: Sequence[Message]) -> Conversation:
    """Return the messages as the API wants them. Raises RequestError with the message's path."""
    writer = _Writer()
    for message in with_user(messages):
        writer.add(message)
    return writer.finish()


class _Writer:
    """Puts turns together, message by message."""

    def __init__(self) -> None:
        self._system: list[Block] = []
        self._turns = Turns(
            not_in_id=_NOT_IN_ID,
            max_id_chars=MAX_ID_CHARS,
            is_thought=lambda block: block["type"] in THOUGHTS,
        )

    def add(self, message: Message) -> None:
        match message.role:
            case "system":
                self._system += write_blocks(message.parts, message.cache_control)
            case "assistant":
                self._add_assistant(message)
            case "tool":
                self._add_result(message)
            case "user":
                blocks = write_blocks(message.parts, message.cache_control)
                self._turns.add("user", blocks, message.param)

    def finish(self) -> Conversation:
        self._turns.finish()
        return Conversation(system=_join(self._system), turns=self._turns)

    def _add_assistant(self, message: Message) -> None:
        blocks = write_blocks(message.parts, None)
        called: dict[str, str] = {}
        for call in message.parts:
            if not isinstance(call, ToolCall):
                continue
            called[call.id] = self._turns.name_call(call.id)
            blocks.append(
                {
                    "type": "tool_use",
                    "id": called[call.id],
                    "name": tidy_name(call.name),
                    "input": read_arguments(call.arguments),
                }
            )
        if blocks:
            mark(blocks[-1], message.cache_control)
        self._turns.add_answer([*self._read_thoughts(message), *blocks], called, message.param)

    def _read_thoughts(self, message: Message) -> list[Block]:
        blocks: list[Block] = []
        for part in message.parts:
            if not isinstance(part, Reasoning):
                continue
            is_ours = part.format == ANTHROPIC
            if is_ours and part.data:
                blocks.append({"type": "redacted_thinking", "data": part.data})
            elif is_ours and part.signature:
                signed: Block = {"thinking": part.text, "signature": part.signature}
                blocks.append({"type": "thinking", **signed})
            else:
                self._turns.drops_thoughts |= part.is_detail
        return blocks

    def _add_result(self, message: Message) -> None:
        for part in message.parts:
            assert isinstance(part, ToolResult)
            result: Block = {"type": "tool_result", "tool_use_id": self._turns.take_call(part)}
            if content := write_blocks(part.content, None):
                result["content"] = content
            self._turns.add_results([mark(result, part.cache_control)])


def _join(blocks: list[Block]) -> str | list[Block]:
    if any("cache_control" in block for block in blocks):
        return blocks
    return BETWEEN.join(str(block["text"]) for block in blocks)
