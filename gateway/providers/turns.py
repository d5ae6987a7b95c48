"""Puts the turns of a conversation together as strict dialects want them.

Neighbours of one role become one turn. Results of tools come first in theirs: nothing may stand
between a call and its result. Each call has an id that the dialect takes and that no other call
has, and a result. Thoughts go back only with something behind them, and an answer that is begun
ends without white space.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypedDict

from msgspec.structs import replace

from gateway.core.chat import Message, ToolResult
from gateway.core.errors import RequestError

Block = dict[str, object]


def with_user(messages: Sequence[Message]) -> Sequence[Message]:
    """Return messages of which one is no system's, as every strict dialect wants: where there is
    none, the last one is taken for the user's, because it is what the model is to answer."""
    if not messages or any(message.role != "system" for message in messages):
        return messages
    return [*messages[:-1], replace(messages[-1], role="user")]


class Turn(TypedDict):
    """The blocks that neighbours of one role have together."""

    role: str
    content: list[Block]


class Turns:
    """The turns so far, of user and assistant. is_thought: of a block of the dialect."""

    def __init__(
        self,
        *,
        not_in_id: re.Pattern[str],
        max_id_chars: int,
        is_thought: Callable[[Block], bool],
    ) -> None:
        self.written: list[Turn] = []
        # There was reasoning that the model does not take.
        self.drops_thoughts = False
        self._not_in_id = not_in_id
        self._max_id_chars = max_id_chars
        self._is_thought = is_thought
        self._ids: set[str] = set()
        # Calls without a result so far: the caller's id of each, and ours.
        self._open: dict[str, str] = {}
        self._results = 0  # in the last turn

    @property
    def is_in_tool_loop(self) -> bool:
        """True when the last turn answers calls of tools."""
        return self._results > 0

    @property
    def is_begun(self) -> bool:
        """True when the answer is begun already: the last turn is the assistant's."""
        return bool(self.written) and self.written[-1]["role"] == "assistant"

    @property
    def has_thoughts(self) -> bool:
        """True when the last turn of the assistant begins with its thoughts."""
        spoken = [turn["content"] for turn in self.written if turn["role"] == "assistant"]
        return bool(spoken) and self._is_thought(spoken[-1][0])

    def forget_thoughts(self) -> None:
        """Leave out all thoughts: a model that is not to think takes none."""
        for turn in self.written:
            blocks = turn["content"]
            turn["content"] = [block for block in blocks if not self._is_thought(block)]
            self.drops_thoughts |= len(turn["content"]) < len(blocks)

    def add(self, role: str, blocks: list[Block], path: str) -> None:
        """Add what somebody said. Raises RequestError with the message's path."""
        if not blocks:
            return
        if role == "assistant" and not self.written:
            raise RequestError(
                "The first message must be a user message for this model.", param=path
            )
        if self.written and self.written[-1]["role"] == role:
            self.written[-1]["content"].extend(blocks)
            return
        if role == "assistant":
            self._refuse_open_call(path)
        self.written.append(Turn(role=role, content=blocks))
        self._results = 0

    def add_answer(
        self, blocks: list[Block], called: dict[str, str], path: str, *, marks: Sequence[Block] = ()
    ) -> None:
        """Add what the assistant said. called: the caller's id of each call in it, and ours. marks:
        blocks for behind it that say nothing. Raises RequestError with the message's path."""
        # No thought may be without anything behind it.
        if all(map(self._is_thought, blocks)):
            self.drops_thoughts |= bool(blocks)
            return
        self.add("assistant", [*blocks, *marks], path)
        self._open |= called

    def name_call(self, call_id: str) -> str:
        """Return an id that the dialect takes, and that no other call has: some providers number
        the calls of each answer anew."""
        name = base = self._not_in_id.sub("_", call_id)[: self._max_id_chars] or "call"
        number = 1
        while name in self._ids:
            number += 1
            end = f"_{number}"
            name = base[: self._max_id_chars - len(end)] + end
        self._ids.add(name)
        return name

    def take_call(self, result: ToolResult) -> str:
        """Return our id of the call that this is the result of. Raises RequestError."""
        ours = self._open.pop(result.call_id, None)
        if ours is None:
            raise RequestError(
                "The preceding assistant message has no tool call with this ID.",
                param=f"{result.param}.tool_call_id",
            )
        return ours

    def add_results(self, blocks: list[Block]) -> None:
        """Add a result, before whatever else has been said in its turn."""
        if self.written[-1]["role"] != "user":
            self.written.append(Turn(role="user", content=[]))
            self._results = 0
        at = self._results
        self.written[-1]["content"][at:at] = blocks
        self._results += len(blocks)

    def finish(self) -> None:
        """Raises RequestError where there are no turns, or a call has no result."""
        if not self.written:
            raise RequestError(
                "There is no user message with content in messages.", param="messages"
            )
        self._refuse_open_call("messages")
        if self.is_begun:
            _strip_end(self.written[-1]["content"])

    def _refuse_open_call(self, path: str) -> None:
        if self._open:
            raise RequestError(
                f"The tool call {next(iter(self._open))} has no result after it.",
                param=path,
            )


def _strip_end(blocks: list[Block]) -> None:
    """Take the white space off the end of the last text. A mark may be behind it."""
    texts = [at for at, block in enumerate(blocks) if "text" in block]
    for at in texts[-1:]:
        blocks[at] = {**blocks[at], "text": str(blocks[at]["text"]).rstrip()}
