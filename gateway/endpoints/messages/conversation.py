"""Turns of Anthropic's format as messages in OpenAI's spelling, as all dialects are written from.

A turn with results of tools becomes several messages: one for each result, then what else was said.
Pictures that a tool returned come after the results, for there they may only be text.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gateway.core.errors import RequestError
from gateway.core.json_types import JsonObject
from gateway.core.reasoning import FIELD as DETAILS
from gateway.endpoints.messages import schema
from gateway.endpoints.messages.content import (
    BETWEEN,
    CACHE_CONTROL,
    Placed,
    asks_for_citations,
    has_own_citations,
    join_texts,
    marked,
    text_part,
    write_block,
)
from gateway.endpoints.messages.payload import find_path
from gateway.endpoints.messages.reasoning import read_thinking
from gateway.endpoints.messages.server_blocks import write_server_block

CITATIONS = "citations"
# Of results of tools that Anthropic has run.
HIDDEN = "messages.encrypted_content"
REASONING = "reasoning"
# A result of a tool has no other place for it.
FAILED = "Error: "
_encode = msgspec.json.encode


class Conversation:
    """The messages of one request.

    fields: what messages and blocks have that not every provider takes. lost: what no provider
    gets. hidden: what only Anthropic can read, and hidden_tokens a bound of it. paths: where each
    part stands in the request, by its message and its place there. is_foreign: some of it was
    thought by models of others than Anthropic, or not thought where Anthropic's would have.
    """

    def __init__(self, request: schema.MessagesRequest) -> None:
        self.messages: list[JsonObject] = []
        self.fields: set[str] = set()
        self.lost: set[str] = set()
        self.paths: dict[tuple[int, int], str] = {}
        self.is_foreign = lacks_thoughts(request)
        self.hidden: set[str] = set()
        self.hidden_tokens = 0
        self._has_own_citations = False
        # There is something that Anthropic's API refuses, and a translation leaves out: answers
        # may be empty, or white space.
        self._needs_repair = False
        self._ran: dict[str, str] = {}
        if request.system:
            self._add_system(request.system, "system")
        for index, turn in enumerate(request.messages):
            path = f"messages.{index}.content"
            match turn:
                case schema.UserTurn():
                    self._add_user(turn.content, path)
                case schema.AssistantTurn():
                    self._add_assistant(turn.content, path)
                case schema.SystemTurn():
                    self._add_system(turn.content, path)
        if not any(message["role"] != "system" for message in self.messages):
            raise RequestError("The messages have no content.", param="messages")

    @property
    def is_native(self) -> bool:
        """True for a conversation that Anthropic's API takes as it is, and whose answer has nothing
        that cannot be told here."""
        return not (self.is_foreign or self.lost or self._has_own_citations or self._needs_repair)

    def _add(self, message: JsonObject, paths: Sequence[str]) -> None:
        row = len(self.messages)
        self.paths.update({(row, column): path for column, path in enumerate(paths)})
        self.messages.append(message)
        content = message["content"]
        parts = content if isinstance(content, list) else []
        if any(CACHE_CONTROL in part for part in (message, *parts)):
            self.fields.add(CACHE_CONTROL)

    def _add_system(self, content: str | Sequence[schema.PlainText], path: str) -> None:
        said: object = content
        if not isinstance(content, str):
            parts = [marked(text_part(block.text), block.cache_control) for block in content]
            said = join_texts(parts, BETWEEN)
        self._add({"role": "system", "content": said}, [path])

    def _add_user(self, content: str | Sequence[schema.UserBlock], path: str) -> None:
        if isinstance(content, str):
            self._add({"role": "user", "content": content}, [path])
            return
        placed: list[Placed] = []
        for index, block in enumerate(content):
            if isinstance(block, schema.ToolResultBlock):
                placed += self._add_result(block, f"{path}.{index}")
            else:
                self._note_citations(block)
                placed += write_block(block, f"{path}.{index}")
        if placed:
            parts = [part for part, _ in placed]
            self._add({"role": "user", "content": parts}, [place for _, place in placed])

    def _add_result(self, block: schema.ToolResultBlock, path: str) -> list[Placed]:
        """Add a tool's message. Return what else it returned, which the user's message gets."""
        texts: list[JsonObject] = []
        others: list[Placed] = []
        if isinstance(block.content, str):
            texts.append(text_part(block.content))
        else:
            for index, inner in enumerate(block.content or ()):
                self._note_citations(inner)
                for part, place in write_block(inner, f"{path}.content.{index}"):
                    if part["type"] == "text":
                        texts.append(part)
                    else:
                        others.append((part, place))
        if others and not texts:
            texts.append(text_part("See below."))
        if block.is_error:
            texts = texts or [text_part("")]
            texts[0] = {**texts[0], "text": _as_failure(str(texts[0]["text"]))}
        said = {
            "role": "tool",
            "tool_call_id": block.tool_use_id,
            "content": join_texts(texts, "\n"),
        }
        self._add(marked(said, block.cache_control), [f"{path}.content"])
        if not others:
            return []
        about = text_part(f"Returned by the tool call {block.tool_use_id}:")
        return [(about, f"{path}.content"), *others]

    def _add_assistant(self, content: str | Sequence[schema.AssistantBlock], path: str) -> None:
        if isinstance(content, str):
            self._needs_repair = self._needs_repair or not content.strip()
            self._add({"role": "assistant", "content": content}, [path])
            return
        texts: list[JsonObject] = []
        calls: list[JsonObject] = []
        thinking: list[schema.ThinkingBlock | schema.RedactedThinkingBlock] = []
        mark: schema.CacheControl = None
        for block in content:
            if isinstance(block, schema.TextBlock):
                self._has_own_citations |= has_own_citations(block)
                self._needs_repair = self._needs_repair or not block.text.strip()
                texts.append(marked(text_part(block.text), block.cache_control))
            elif isinstance(block, schema.ToolUseBlock):
                calls.append(_write_call(block))
                mark = block.cache_control or mark
            elif isinstance(block, schema.ThinkingBlock | schema.RedactedThinkingBlock):
                thinking.append(block)
            else:
                texts.append(self._write_server_block(block))
        thoughts = read_thinking(thinking)
        self.is_foreign = self.is_foreign or thoughts.is_foreign
        if not texts and not calls:
            self._needs_repair = True
            return  # no answer is nothing but thoughts
        message: JsonObject = {"role": "assistant"}
        message["content"] = join_texts(texts, "") if texts else None
        if thoughts.text:
            message[REASONING] = thoughts.text
        if thoughts.details:
            message[DETAILS] = thoughts.details
        if calls:
            message["tool_calls"] = calls
        self.fields |= {REASONING, DETAILS} & message.keys()
        self._add(marked(message, mark), [path])

    def _write_server_block(self, block: schema.ServerCalls | schema.ServerResults) -> JsonObject:
        written = write_server_block(block, self._ran)
        if written.lost:
            self.hidden.add(HIDDEN)
        self.hidden_tokens += written.hidden_tokens
        return marked(text_part(written.text), block.cache_control)

    def _note_citations(self, block: object) -> None:
        if asks_for_citations(block):
            self.lost.add(CITATIONS)

    def path_of(self, param: str | None) -> str | None:
        """Return where something stands in the request, given where in the messages."""
        return find_path(param, self.paths) if param else param


def lacks_thoughts(request: schema.MessagesRequest) -> bool:
    """True where results of tools follow an answer without thoughts, as of another provider's
    model, and thinking is on: Anthropic's API refuses that."""
    last = request.messages[-1]
    if not isinstance(request.thinking, schema.ThinkEnabled) or isinstance(last.content, str):
        return False
    if not any(isinstance(block, schema.ToolResultBlock) for block in last.content):
        return False
    answers = [turn.content for turn in request.messages if isinstance(turn, schema.AssistantTurn)]
    first = answers[-1][0] if answers and answers[-1] else None
    return not isinstance(first, schema.ThinkingBlock | schema.RedactedThinkingBlock)


def _as_failure(text: str) -> str:
    return text if text.startswith(FAILED) else FAILED + text


def _write_call(block: schema.ToolUseBlock) -> JsonObject:
    function = {"name": block.name, "arguments": _encode(block.input).decode()}
    return {"id": block.id, "type": "function", "function": function}
