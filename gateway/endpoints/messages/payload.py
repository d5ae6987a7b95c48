"""A call to /messages: a chat completion, and where its members stand in Anthropic's format."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gateway.core.chat import ChatRequest

# Where each part of a message stands in the request, by the message and its place there.
Paths = Mapping[tuple[int, int], str]
_PATH = re.compile(r"^messages\[(\d+)\](?:\.content(?:\[(\d+)\])?)?")
_PLACE = re.compile(r"\[(\d+)\]")
_MEMBERS = {
    "stop": "stop_sequences",
    "user": "metadata.user_id",
    "parallel_tool_calls": "tool_choice.disable_parallel_tool_use",
    "reasoning": "messages.thinking",
    "reasoning_details": "messages.thinking",
}
_PARTS = (
    (re.compile(r"^stop\["), "stop_sequences["),
    (re.compile(r"^(tools\[\d+\])\.(?:function|custom)\.parameters(?=\.|$)"), r"\1.input_schema"),
    (re.compile(r"^(tools\[\d+\])\.(?:function|custom)(?=\.|$)"), r"\1"),
    (re.compile(r"^tool_choice\.(?:function|allowed_tools)\b.*"), "tool_choice"),
)
_FORMAT = re.compile(r"^response_format(?:\.json_schema)?(?=\.|$)")


class MessagesPayload(ChatRequest, frozen=True, kw_only=True):
    """As gateway.core.chat.ChatRequest."""

    paths: Paths
    # Where the request says how much to think, and what form the answer has.
    effort_path: str
    format_path: str

    def place_of(self, name: str) -> str:
        if name == "reasoning_effort":
            return self.effort_path
        if name in _MEMBERS:
            return _MEMBERS[name]
        name = _FORMAT.sub(self.format_path, find_path(name, self.paths))
        for pattern, here in _PARTS:
            name = pattern.sub(here, name)
        return _PLACE.sub(r".\1", name)


def find_path(param: str, paths: Paths) -> str:
    """Return where something stands in the request, given where it is in the messages."""
    found = _PATH.match(param)
    if found is None:
        return param
    return paths.get((int(found[1]), int(found[2] or 0)), "messages")
