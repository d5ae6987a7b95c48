"""Messages in OpenAI's order to Converse's: instructions beside the turns, calls of tools and their
results as blocks of the turns.

Reference: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html
Reasoning goes back only as it came from this API, signed or encrypted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from gateway.core.chat import Message, Reasoning, ToolCall, ToolResult
from gateway.core.tool_arguments import read_arguments
from gateway.providers.anthropic.content import tidy_name
from gateway.providers.bedrock.content import THOUGHT, ContentWriter, is_own, mark
from gateway.providers.turns import Block, Turns, with_user

MAX_ID_CHARS = MAX_NAME_CHARS = 64
_NOT_IN_ID = re.compile(r"[^a-zA-Z0-9_.:-]")


class Conversation(msgspec.Struct, kw_only=True):
    """What a prompt comes to."""

    system: list[Block]
    turns: Turns
    # The names of tools that were called before.
    called: list[str]


def translate(messages: Sequence[Message]) -> Conversation:
    """Return the messages as the API wants them. Raises RequestError with the message's path."""
    writer = _Writer()
    for message in with_user(messages):
        writer.add(message)
    return writer.finish()


class _Writer:
    """Puts turns together, message by message."""

    def __init__(self) -> None:
        self._content = ContentWriter()
        self._system: list[Block] = []
        self._turns = Turns(
            not_in_id=_NOT_IN_ID,
            max_id_chars=MAX_ID_CHARS,
            is_thought=lambda block: THOUGHT in block,
        )
        self._called: dict[str, None] = {}

    def add(self, message: Message) -> None:
        match message.role:
            case "system":
                self._system += self._content.write(message.parts, message.cache_control)
            case "assistant":
                self._add_assistant(message)
            case "tool":
                for part in message.parts:
                    assert isinstance(part, ToolResult)
                    self._add_result(part)
            case "user":
                blocks = self._content.write(message.parts, message.cache_control)
                self._turns.add("user", blocks, message.param)

    def finish(self) -> Conversation:
        self._turns.finish()
        return Conversation(system=self._system, turns=self._turns, called=list(self._called))

    def _add_assistant(self, message: Message) -> None:
        blocks = self._content.write(message.parts, None)
        named: dict[str, str] = {}
        for part in message.parts:
            if isinstance(part, Reasoning) and part.is_detail and not is_own(part):
                self._turns.drops_thoughts = True
            if isinstance(part, ToolCall):
                named[part.id] = self._turns.name_call(part.id)
                blocks.append({"toolUse": self._write_call(part, named[part.id])})
        is_marked = bool(blocks) and "cachePoint" in blocks[-1]
        marks = [] if is_marked else mark(message.cache_control)
        self._turns.add_answer(blocks, named, message.param, marks=marks)

    def _write_call(self, call: ToolCall, ours: str) -> Block:
        name = tidy_name(call.name)[:MAX_NAME_CHARS]
        self._called[name] = None
        given = read_arguments(call.arguments)
        return {"toolUseId": ours, "name": name, "input": given}

    def _add_result(self, part: ToolResult) -> None:
        ours = self._turns.take_call(part)
        content = self._content.write(part.content, None)
        said = [block for block in content if "cachePoint" not in block]
        result: Block = {"toolResult": {"toolUseId": ours, "content": said}}
        self._turns.add_results([result, *mark(part.cache_control)])
