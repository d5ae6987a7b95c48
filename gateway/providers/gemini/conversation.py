"""Messages in OpenAI's order to Gemini's contents.

Instructions are lifted out, and neighbours of one role become one turn. Calls of functions and
their responses are parts; the responses to a turn's calls are a turn of their own right behind it,
because the API takes nothing between them. The signatures of thoughts go back to where they came
from, and a model that refuses calls without one gets the word that Google has for histories of
other origin.
Reference: https://ai.google.dev/gemini-api/docs/thought-signatures
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from gateway.core import reasoning
from gateway.core.chat import Message, Reasoning, ToolCall, ToolResult
from gateway.core.errors import RequestError
from gateway.core.tool_arguments import read_arguments
from gateway.providers.gemini.content import Part, write_parts
from gateway.providers.turns import with_user

BETWEEN = "\n\n"
MAX_NAME_CHARS = 128
# Stands for a signature that there is not.
NO_SIGNATURE = "skip_thought_signature_validator"
_NOT_IN_NAME = re.compile(r"[^a-zA-Z0-9_.:-]")
_read_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)


class Turn(msgspec.Struct):
    """A content: what one side says."""

    role: str
    parts: list[Part]


class Conversation(msgspec.Struct):
    """What a prompt comes to. drops_reasoning: some of what models thought is not of this
    provider's, and stays here."""

    system: str
    turns: list[Turn]
    drops_reasoning: bool


def translate(
    messages: Sequence[Message], *, wants_signatures: bool, needs_type: bool
) -> Conversation:
    """Return the messages as the API wants them. Raises RequestError or InvalidFile with the
    message's path.

    wants_signatures: the model refuses calls without. needs_type: as in write_parts.
    """
    writer = _Writer(wants_signatures=wants_signatures, needs_type=needs_type)
    for message in with_user(messages):
        writer.add(message)
    return writer.finish()


class _Writer:
    """Puts turns together, message by message."""

    def __init__(self, *, wants_signatures: bool, needs_type: bool) -> None:
        self._wants_signatures = wants_signatures
        self._needs_type = needs_type
        self._system: list[str] = []
        self._turns: list[Turn] = []
        # Calls without a result so far: the name that each id has called.
        self._open: dict[str, str] = {}
        # The responses to the last calls.
        self._responses = Turn("user", [])
        self._drops_reasoning = False

    def add(self, message: Message) -> None:
        match message.role:
            case "system":
                parts = write_parts(message.parts, needs_type=self._needs_type)
                self._system += [str(part["text"]) for part in parts if "text" in part]
            case "assistant":
                self._add_assistant(message)
            case "tool":
                self._add_results(message)
            case "user":
                parts = write_parts(message.parts, needs_type=self._needs_type)
                self._add_parts("user", parts, message.param)

    def finish(self) -> Conversation:
        if not self._turns:
            raise RequestError(
                "There is no user message with content in messages.", param="messages"
            )
        self._refuse_open("messages")
        return Conversation(BETWEEN.join(self._system), self._turns, self._drops_reasoning)

    def _refuse_open(self, path: str) -> None:
        if self._open:
            raise RequestError(
                f"The tool call {next(iter(self._open))} has no result after it.",
                param=path,
            )

    def _add_parts(self, role: str, parts: list[Part], path: str) -> None:
        if not parts:
            return
        if role == "model":
            self._refuse_open(path)
        last = self._turns[-1] if self._turns else None
        if last is not None and last.role == role and last is not self._responses:
            last.parts.extend(parts)
        else:
            self._turns.append(Turn(role, parts))

    def _add_assistant(self, message: Message) -> None:
        parts = write_parts(message.parts, needs_type=self._needs_type)
        signatures = self._signatures_of(message.parts)
        if (of_text := signatures.pop("", "")) and not self._sign_text(parts, of_text):
            parts.append({"text": "", "thoughtSignature": of_text})
        calls = [part for part in message.parts if isinstance(part, ToolCall)]
        for index, call in enumerate(calls):
            name = _NOT_IN_NAME.sub("_", call.name)[:MAX_NAME_CHARS] or "_"
            args = read_arguments(call.arguments)
            part: Part = {"functionCall": {"id": call.id, "name": name, "args": args}}
            signature = signatures.get(call.id, "")
            # Of calls at once only the first one has one.
            if not signature and index == 0 and self._wants_signatures:
                signature = NO_SIGNATURE
            if signature:
                part["thoughtSignature"] = signature
            parts.append(part)
        self._add_parts("model", parts, message.param)
        if calls:
            self._open |= {
                call.id: str(_called(part)["name"])
                for call, part in zip(calls, parts[-len(calls) :], strict=True)
            }
            self._responses = Turn("user", [])

    def _signatures_of(self, parts: Iterable[object]) -> dict[str, str]:
        """Return the provider's own signatures: by the call that they are of, the text's without
        one."""
        found: dict[str, str] = {}
        for part in parts:
            if not isinstance(part, Reasoning):
                continue
            if part.data and part.format == reasoning.GOOGLE:
                found[part.id] = part.data
            elif part.data or part.signature:
                self._drops_reasoning = True
        return found

    def _sign_text(self, parts: list[Part], signature: str) -> bool:
        """Put a signature on the last text. Returns whether there is one."""
        if parts and "text" in parts[-1]:
            parts[-1]["thoughtSignature"] = signature
            return True
        return False

    def _add_results(self, message: Message) -> None:
        for result in message.parts:
            assert isinstance(result, ToolResult)
            name = self._open.pop(result.call_id, None)
            if name is None:
                raise RequestError(
                    "The preceding assistant message has no tool call with this ID.",
                    param=f"{result.param}.tool_call_id",
                )
            if not self._responses.parts:
                self._turns.insert(self._behind_calls(), self._responses)
            response = {"id": result.call_id, "name": name, "response": _response_of(result)}
            self._responses.parts.append({"functionResponse": response})

    def _behind_calls(self) -> int:
        """Return the place behind the last turn of the model's."""
        place = len(self._turns)
        while self._turns[place - 1].role != "model":
            place -= 1
        return place


def _called(part: Part) -> dict[str, object]:
    call = part["functionCall"]
    assert isinstance(call, dict)
    return call


def _response_of(result: ToolResult) -> object:
    """Return what a tool said as an object, which the API wants: its own, or one around it."""
    text = BETWEEN.join(part.text for part in result.content)
    try:
        return _read_object(text)
    except UNREADABLE:
        return {"output": text}
