"""Messages in OpenAI's order to Anthropic's turns.

Instructions are lifted out, calls of tools and their results become blocks, and neighbours of one
role become one turn, in which results come first: the API takes nothing between a call and its
result. Text without a visible character is left out, for the API refuses it. So is reasoning:
it goes back only with the signature it came with.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

from gateway.core.chat import Message, ToolCall, ToolResult
from gateway.core.errors import RequestError
from gateway.providers.anthropic.content import Block, input_of, mark, tidy_name, write_blocks

BETWEEN = "\n\n"
_NOT_IN_ID = re.compile(r"[^a-zA-Z0-9_-]")


class Conversation(msgspec.Struct):
    """What a prompt comes to. system: one text, or blocks where the cache is marked."""

    system: str | list[Block]
    turns: list[dict[str, object]]
    # The last turn answers calls of tools.
    is_in_tool_loop: bool
    # The answer is begun already: the last turn is the assistant's.
    is_begun: bool


def translate(messages: Sequence[Message]) -> Conversation:
    """Return the messages as the API wants them. Raises RequestError with the message's path."""
    writer = _Writer()
    for message in messages:
        writer.add(message)
    return writer.finish()


class _Writer:
    """Puts turns together, message by message."""

    def __init__(self) -> None:
        self._system: list[Block] = []
        self._turns: list[tuple[str, list[Block]]] = []
        self._ids: set[str] = set()
        # Calls without a result so far: the caller's id of each, and ours.
        self._open: dict[str, str] = {}
        self._results = 0  # in the last turn

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
                self._add_blocks("user", blocks, message.param)

    def finish(self) -> Conversation:
        if not self._turns:
            raise RequestError("The messages have no text.", param="messages")
        if self._open:
            raise RequestError(
                f"The tool call {next(iter(self._open))} is not followed by a tool message.",
                param="messages",
            )
        role, blocks = self._turns[-1]
        is_begun = role == "assistant"
        if is_begun:
            _strip_end(blocks)
        return Conversation(
            system=_join(self._system),
            turns=[{"role": role, "content": blocks} for role, blocks in self._turns],
            is_in_tool_loop=self._results > 0,
            is_begun=is_begun,
        )

    def _add_blocks(self, role: str, blocks: list[Block], path: str) -> None:
        if not blocks:
            return
        if role == "assistant" and not self._turns:
            raise RequestError(
                "The first message must be a user message for this model.", param=path
            )
        if self._turns and self._turns[-1][0] == role:
            self._turns[-1][1].extend(blocks)
            return
        if role == "assistant" and self._open:
            raise RequestError(
                f"The tool call {next(iter(self._open))} is not followed by a tool message.",
                param=path,
            )
        self._turns.append((role, blocks))
        self._results = 0

    def _add_assistant(self, message: Message) -> None:
        blocks = write_blocks(message.parts, message.cache_control)
        called: dict[str, str] = {}
        for call in message.parts:
            if not isinstance(call, ToolCall):
                continue
            called[call.id] = self._name(call.id)
            blocks.append(
                {
                    "type": "tool_use",
                    "id": called[call.id],
                    "name": tidy_name(call.name),
                    "input": input_of(call.arguments, f"{call.param}.function.arguments"),
                }
            )
        self._add_blocks("assistant", blocks, message.param)
        self._open |= called

    def _add_result(self, message: Message) -> None:
        for part in message.parts:
            assert isinstance(part, ToolResult)
            ours = self._open.pop(part.call_id, None)
            if ours is None:
                raise RequestError(
                    "The preceding assistant message has no tool call with this ID.",
                    param=f"{part.param}.tool_call_id",
                )
            result: Block = {"type": "tool_result", "tool_use_id": ours}
            if content := write_blocks(part.content, None):
                result["content"] = content
            mark(result, part.cache_control)
            if self._turns[-1][0] != "user":
                self._turns.append(("user", []))
                self._results = 0
            # Before whatever else has been said in the turn.
            self._turns[-1][1].insert(self._results, result)
            self._results += 1

    def _name(self, call_id: str) -> str:
        """Return an id that the API takes, and that no other call has: some providers number the
        calls of each answer anew."""
        name = base = _NOT_IN_ID.sub("_", call_id) or "call"
        number = 1
        while name in self._ids:
            number += 1
            name = f"{base}_{number}"
        self._ids.add(name)
        return name


def _join(blocks: list[Block]) -> str | list[Block]:
    if any("cache_control" in block for block in blocks):
        return blocks
    return BETWEEN.join(str(block["text"]) for block in blocks)


def _strip_end(blocks: list[Block]) -> None:
    """Take the white space off the end of an answer that is begun: the API refuses it."""
    last: Mapping[str, object] = blocks[-1]
    if last["type"] == "text":
        blocks[-1] = {**last, "text": str(last["text"]).rstrip()}
