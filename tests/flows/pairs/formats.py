"""The formats of callers: how each writes a conversation, and what its SDK makes of answers."""

from __future__ import annotations

import json
from typing import Any, ClassVar

from anthropic.types import Message
from openai.types.chat import ChatCompletion

from tests.flows.caller import CHAT, Answer, Caller, LiveCall
from tests.flows.messages.asking import MESSAGES, Messenger, message_of
from tests.flows.pairs.conversation import (
    PDF,
    PNG,
    TOOL,
    TOOL_SCHEMA,
    Body,
    Call,
    Own,
    Result,
    Said,
    Turn,
    User,
    Wishes,
)
from tests.flows.responses.asking import RESPONSES, events_of, response_of

PNG_URL, PDF_URL = f"data:image/png;base64,{PNG}", f"data:application/pdf;base64,{PDF}"


def is_stream(answer: Answer) -> bool:
    return answer.headers["content-type"].startswith("text/event-stream")


def without_nothing(body: Body) -> Body:
    return {name: value for name, value in body.items() if value not in (None, "", [], False)}


class ChatCompletionsFormat:
    name = "chat"
    takes_stop = True

    def begin(self, caller: Caller, turns: list[Turn], wishes: Wishes) -> LiveCall:
        body: Body = {
            "model": caller.model,
            "messages": [message for turn in turns for message in self._write(turn)],
            "stream": wishes.stream,
            "stream_options": {"include_usage": True} if wishes.stream else None,
            "max_tokens": wishes.max_tokens,
            "stop": wishes.stop,
            "reasoning_effort": "high" if wishes.thinks else None,
        }
        if wishes.system:
            body["messages"].insert(0, {"role": "system", "content": wishes.system})
        if wishes.has_tools:
            function = {"name": TOOL, "description": "Look up.", "parameters": TOOL_SCHEMA}
            body["tools"] = [{"type": "function", "function": function}]
        if wishes.tool_choice:
            named = {"type": "function", "function": {"name": TOOL}}
            body["tool_choice"] = named if wishes.tool_choice == "forced" else wishes.tool_choice
        if wishes.schema:
            schema = {"name": "weather", "schema": wishes.schema, "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        raw = json.dumps(without_nothing(body)).encode()
        return caller.begin(raw=raw, path=CHAT, headers=wishes.headers)

    def read(self, answer: Answer) -> Said:
        completion = ChatCompletion.model_validate(
            _join_chunks(answer.chunks) if is_stream(answer) else answer.json
        )
        choice, usage = completion.choices[0], completion.usage
        assert usage is not None
        details = usage.prompt_tokens_details
        turn = choice.message.model_dump(exclude_none=True)
        # Two names for one text.
        turn.pop("reasoning_content", None)
        return Said(
            text=choice.message.content or "",
            finish=choice.finish_reason,
            prompt_tokens=usage.prompt_tokens,
            cached_tokens=(details.cached_tokens if details else 0) or 0,
            completion_tokens=usage.completion_tokens,
            calls=[
                Call(call.id, call.function.name, json.loads(call.function.arguments))
                for call in choice.message.tool_calls or ()
                if call.type == "function"
            ],
            reasoning=turn.get("reasoning", ""),
            turn=[turn],
        )

    def is_broken(self, answer: Answer) -> bool:
        return "error" in answer.chunks[-1]

    def code_of(self, answer: Answer) -> str:
        return str(answer.error["code"])

    def _write(self, turn: Turn) -> list[Body]:
        match turn:
            case Own():
                return turn.turn
            case Result():
                return [{"role": "tool", "tool_call_id": turn.call_id, "content": turn.text}]
            case User():
                parts: list[Body] = []
                if turn.has_image:
                    parts.append({"type": "image_url", "image_url": {"url": PNG_URL}})
                if turn.has_document:
                    file = {"filename": "a.pdf", "file_data": PDF_URL}
                    parts.append({"type": "file", "file": file})
                text = {"type": "text", "text": turn.text}
                return [{"role": "user", "content": [*parts, text] if parts else turn.text}]


def _join_chunks(chunks: list[Body]) -> Body:
    """Return the completion that the chunks of a stream come to."""
    message: Body = {"role": "assistant", "content": "", "tool_calls": []}
    details: dict[int, Body] = {}
    whole: Body = chunks[0] | {"object": "chat.completion"}
    finish = None
    for chunk in chunks:
        whole["usage"] = chunk.get("usage") or whole.get("usage")
        for choice in chunk["choices"]:
            finish = choice.get("finish_reason") or finish
            for name, piece in choice["delta"].items():
                if name == "tool_calls":
                    _add_calls(message["tool_calls"], piece)
                elif name == "reasoning_details":
                    _add_details(details, piece)
                elif isinstance(piece, str) and name != "role":
                    message[name] = message.get(name, "") + piece
    if details:
        message["reasoning_details"] = [details[index] for index in sorted(details)]
    message = {name: value for name, value in message.items() if value != []}
    whole["choices"] = [{"index": 0, "message": message, "finish_reason": finish}]
    return whole


def _add_calls(calls: list[Body], pieces: list[Body]) -> None:
    for piece in pieces:
        if piece["index"] == len(calls):
            calls.append({"id": piece["id"], "type": "function", "function": {"arguments": ""}})
        function = calls[piece["index"]]["function"]
        function["name"] = piece["function"].get("name") or function.get("name")
        function["arguments"] += piece["function"].get("arguments") or ""


def _add_details(details: dict[int, Body], pieces: list[Body]) -> None:
    for piece in pieces:
        entry = details.setdefault(piece.get("index", 0), {})
        for name, value in piece.items():
            joins = name in ("text", "data", "summary") and isinstance(value, str)
            entry[name] = entry.get(name, "") + value if joins else value


class MessagesFormat:
    name = "messages"
    takes_stop = True
    _FINISH: ClassVar[dict[str, str]] = {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "max_tokens": "length",
        "tool_use": "tool_calls",
        "refusal": "content_filter",
    }

    def begin(self, caller: Caller, turns: list[Turn], wishes: Wishes) -> LiveCall:
        body: Body = {
            "model": caller.model,
            "messages": self._write(turns),
            "system": wishes.system,
            "stream": wishes.stream,
            "max_tokens": wishes.max_tokens,
            "stop_sequences": [wishes.stop] if wishes.stop else None,
        }
        if wishes.thinks:
            body["thinking"] = {"type": "enabled", "budget_tokens": 2_000}
        if wishes.has_tools:
            tool = {"name": TOOL, "description": "Look up.", "input_schema": TOOL_SCHEMA}
            body["tools"] = [tool]
        if wishes.tool_choice:
            named = {"type": "tool", "name": TOOL}
            choice = named if wishes.tool_choice == "forced" else {"type": wishes.tool_choice}
            body["tool_choice"] = choice
        if wishes.schema:
            form = {"type": "json_schema", "schema": wishes.schema}
            body["output_config"] = {"format": form}
        raw = json.dumps(without_nothing(body)).encode()
        return Messenger.of(caller).begin(raw=raw, path=MESSAGES, headers=wishes.headers)

    def read(self, answer: Answer) -> Said:
        message = Message.model_validate(message_of(answer))
        usage = message.usage
        cached = usage.cache_read_input_tokens or 0
        written = usage.cache_creation_input_tokens or 0
        blocks = message.content
        return Said(
            text="".join(block.text for block in blocks if block.type == "text"),
            finish=self._FINISH[str(message.stop_reason)],
            prompt_tokens=usage.input_tokens + cached + written,
            cached_tokens=cached,
            completion_tokens=usage.output_tokens,
            calls=[
                Call(block.id, block.name, dict(block.input))
                for block in blocks
                if block.type == "tool_use"
            ],
            reasoning="".join(block.thinking for block in blocks if block.type == "thinking"),
            turn=[
                {
                    "role": "assistant",
                    "content": [block.model_dump(exclude_none=True) for block in blocks],
                }
            ],
        )

    def is_broken(self, answer: Answer) -> bool:
        return '"type":"error"' in answer.frames[-1]

    def code_of(self, answer: Answer) -> str:
        assert answer.json["type"] == "error"
        return str(answer.error["code"])

    def _write(self, turns: list[Turn]) -> list[Body]:
        messages: list[Body] = []
        for turn in turns:
            match turn:
                case Own():
                    messages += turn.turn
                case Result():
                    block = {
                        "type": "tool_result",
                        "tool_use_id": turn.call_id,
                        "content": turn.text,
                    }
                    if messages[-1]["role"] != "user":
                        messages.append({"role": "user", "content": []})
                    messages[-1]["content"].append(block)
                case User():
                    messages.append({"role": "user", "content": self._blocks(turn)})
        return messages

    def _blocks(self, turn: User) -> list[Body]:
        blocks: list[Body] = []
        for is_there, kind, media_type, data in (
            (turn.has_image, "image", "image/png", PNG),
            (turn.has_document, "document", "application/pdf", PDF),
        ):
            if is_there:
                source = {"type": "base64", "media_type": media_type, "data": data}
                blocks.append({"type": kind, "source": source})
        return [*blocks, {"type": "text", "text": turn.text}]


class ResponsesFormat:
    name = "responses"
    takes_stop = False

    def begin(self, caller: Caller, turns: list[Turn], wishes: Wishes) -> LiveCall:
        body: Body = {
            "model": caller.model,
            "input": [item for turn in turns for item in self._write(turn)],
            "instructions": wishes.system,
            "stream": wishes.stream,
            "max_output_tokens": wishes.max_tokens,
            "include": ["reasoning.encrypted_content"],
        }
        if wishes.thinks:
            body["reasoning"] = {"effort": "high"}
        if wishes.has_tools:
            tool = {"type": "function", "name": TOOL, "parameters": TOOL_SCHEMA, "strict": True}
            body["tools"] = [tool]
        if wishes.tool_choice:
            named = {"type": "function", "name": TOOL}
            body["tool_choice"] = named if wishes.tool_choice == "forced" else wishes.tool_choice
        if wishes.schema:
            form = {"type": "json_schema", "name": "weather", "schema": wishes.schema}
            body["text"] = {"format": form | {"strict": True}}
        raw = json.dumps(without_nothing(body) | {"store": False}).encode()
        return caller.begin(raw=raw, path=RESPONSES, headers=wishes.headers)

    def read(self, answer: Answer) -> Said:
        response = response_of(answer)
        usage = response.usage
        assert usage is not None
        calls = [item for item in response.output if item.type == "function_call"]
        reasoned = [item for item in response.output if item.type == "reasoning"]
        finish = "tool_calls" if calls else "stop"
        if response.incomplete_details is not None:
            reason = str(response.incomplete_details.reason)
            finish = {"max_output_tokens": "length"}.get(reason, reason)
        return Said(
            text=response.output_text,
            finish=finish,
            prompt_tokens=usage.input_tokens,
            cached_tokens=usage.input_tokens_details.cached_tokens,
            completion_tokens=usage.output_tokens,
            calls=[Call(item.call_id, item.name, json.loads(item.arguments)) for item in calls],
            reasoning="".join(_thought(item.model_dump()) for item in reasoned),
            turn=[item.model_dump(exclude_none=True) for item in response.output],
        )

    def is_broken(self, answer: Answer) -> bool:
        return bool(events_of(answer)[-1]["type"] == "response.failed")

    def code_of(self, answer: Answer) -> str:
        return str(answer.error["code"])

    def _write(self, turn: Turn) -> list[Body]:
        match turn:
            case Own():
                return turn.turn
            case Result():
                kind = "function_call_output"
                return [{"type": kind, "call_id": turn.call_id, "output": turn.text}]
            case User():
                parts: list[Body] = []
                if turn.has_image:
                    parts.append({"type": "input_image", "image_url": PNG_URL, "detail": "auto"})
                if turn.has_document:
                    file = {"filename": "a.pdf", "file_data": PDF_URL}
                    parts.append({"type": "input_file"} | file)
                text = {"type": "input_text", "text": turn.text}
                return [{"role": "user", "content": [*parts, text]}]


def _thought(item: dict[str, Any]) -> str:
    parts = [*(item.get("content") or ()), *(item.get("summary") or ())]
    return "".join(part["text"] for part in parts)


FORMATS = (ChatCompletionsFormat(), MessagesFormat(), ResponsesFormat())
