"""Messages in OpenAI's order to Converse's: instructions beside the turns, calls of tools and their
results as blocks of the turns.

Reference: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Message.html
Reasoning goes back only as it came from this API, signed or encrypted.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from gateway.core import reasoning
from gateway.core.chat import Message, Reasoning, ToolCall, ToolResult
from gateway.providers.anthropic.content import input_of, tidy_name
from gateway.providers.bedrock.content import THOUGHT, ContentWriter, is_own, mark
from gateway.providers.turns import Block, Turn, Turns

MAX_ID_CHARS = MAX_NAME_CHARS = 64
_NOT_IN_ID = re.compile(r"[^a-zA-Z0-9_.:-]")


class Conversation(msgspec.Struct, kw_only=True):
    """What a prompt comes to."""

    system: list[Block]
    turns: list[Turn]
    # The last turn answers calls of tools.
    is_in_tool_loop: bool
    # The answer is begun already: the last turn is the assistant's.
    is_begun: bool
    # The last turn of the assistant begins with its thoughts.
    has_thoughts: bool
    # The names of tools that were called before.
    called: list[str]
    dropped: set[str]

    def forget_thoughts(self) -> None:
        """Leave out all thoughts: a Claude that is not to think takes none."""
        for turn in self.turns:
            blocks = turn["content"]
            turn["content"] = [block for block in blocks if THOUGHT not in block]
            if len(turn["content"]) < len(blocks):
                self.dropped.add(reasoning.FIELD)


def translate(messages: Sequence[Message]) -> Conversation:
    """Return the messages as the API wants them. Raises RequestError with the message's path."""
    writer = _Writer()
    for message in messages:
        writer.add(message)
    return writer.finish()


class _Writer:
    """Puts turns together, message by message."""

    def __init__(self) -> None:
        self._content = ContentWriter()
        self._system: list[Block] = []
        self._turns = Turns(not_in_id=_NOT_IN_ID, max_id_chars=MAX_ID_CHARS)
        self._called: dict[str, None] = {}
        self._dropped: set[str] = set()

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
        turns = self._turns.finish()
        if self._turns.is_begun:
            _strip_end(turns[-1]["content"])
        spoken = [turn["content"] for turn in turns if turn["role"] == "assistant"]
        return Conversation(
            system=self._system,
            turns=turns,
            is_in_tool_loop=self._turns.is_in_tool_loop,
            is_begun=self._turns.is_begun,
            has_thoughts=bool(spoken) and THOUGHT in spoken[-1][0],
            called=list(self._called),
            dropped=self._dropped,
        )

    def _add_assistant(self, message: Message) -> None:
        blocks = self._content.write(message.parts, None)
        named: dict[str, str] = {}
        for part in message.parts:
            if isinstance(part, Reasoning) and part.is_detail and not is_own(part):
                self._dropped.add(reasoning.FIELD)
            if isinstance(part, ToolCall):
                named[part.id] = self._turns.name_call(part.id)
                blocks.append({"toolUse": self._write_call(part, named[part.id])})
        if blocks and all(THOUGHT in block for block in blocks):
            # Models take no thought without anything behind it.
            self._dropped.add(reasoning.FIELD)
            blocks = []
        if blocks and "cachePoint" not in blocks[-1]:
            blocks += mark(message.cache_control)
        self._turns.add("assistant", blocks, message.param)
        self._turns.open_calls(named)

    def _write_call(self, call: ToolCall, ours: str) -> Block:
        name = tidy_name(call.name)[:MAX_NAME_CHARS]
        self._called[name] = None
        given = input_of(call.arguments, f"{call.param}.function.arguments")
        return {"toolUseId": ours, "name": name, "input": given}

    def _add_result(self, part: ToolResult) -> None:
        ours = self._turns.take_call(part)
        content = self._content.write(part.content, None)
        said = [block for block in content if "cachePoint" not in block]
        result: Block = {"toolResult": {"toolUseId": ours, "content": said}}
        self._turns.add_results([result, *mark(part.cache_control)])


def _strip_end(blocks: list[Block]) -> None:
    """Take the white space off the end of an answer that is begun: models refuse it."""
    last = blocks[-1]
    if "text" in last:
        blocks[-1] = {"text": str(last["text"]).rstrip()}
