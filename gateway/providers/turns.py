"""Puts the turns of a conversation together as strict dialects want them.

Neighbours of one role become one turn. Results of tools come first in theirs: nothing may stand
between a call and its result. Each call has an id that the dialect takes and that no other call
has, and a result.
"""

from __future__ import annotations

import re
from typing import TypedDict

from gateway.core.chat import ToolResult
from gateway.core.errors import RequestError

Block = dict[str, object]


class Turn(TypedDict):
    """The blocks that neighbours of one role have together."""

    role: str
    content: list[Block]


class Turns:
    """The turns so far, of user and assistant."""

    def __init__(self, *, not_in_id: re.Pattern[str], max_id_chars: int) -> None:
        self.turns: list[Turn] = []
        self._not_in_id = not_in_id
        self._max_id_chars = max_id_chars
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
        return bool(self.turns) and self.turns[-1]["role"] == "assistant"

    def add(self, role: str, blocks: list[Block], path: str) -> None:
        """Add what somebody said. Raises RequestError with the message's path."""
        if not blocks:
            return
        if role == "assistant" and not self.turns:
            raise RequestError(
                "The first message must be a user message for this model.", param=path
            )
        if self.turns and self.turns[-1]["role"] == role:
            self.turns[-1]["content"].extend(blocks)
            return
        if role == "assistant":
            self._refuse_open_call(path)
        self.turns.append(Turn(role=role, content=blocks))
        self._results = 0

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

    def open_calls(self, named: dict[str, str]) -> None:
        """Note the calls of the turn that was just added: the caller's id of each, and ours."""
        self._open |= named

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
        if self.turns[-1]["role"] != "user":
            self.turns.append(Turn(role="user", content=[]))
            self._results = 0
        at = self._results
        self.turns[-1]["content"][at:at] = blocks
        self._results += len(blocks)

    def finish(self) -> list[Turn]:
        """Return all turns. Raises RequestError where there are none, or a call has no result."""
        if not self.turns:
            raise RequestError(
                "There is no user message with content in messages.", param="messages"
            )
        self._refuse_open_call("messages")
        return self.turns

    def _refuse_open_call(self, path: str) -> None:
        if self._open:
            raise RequestError(
                f"The tool call {next(iter(self._open))} has no result after it.",
                param=path,
            )
