"""The formats of callers: how each asks for the same, and all that it is told.

What no two answers have in common, such as identifiers and signatures, is left out of what is told
or numbered: all else of a stream has to be that of a whole answer.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any, Protocol

from tests.flows.caller import CHAT, Answer
from tests.flows.messages import asking as messages
from tests.flows.responses import asking as responses
from tests.flows.streams_agree.generated import ANSWER_SCHEMA, TOOL_SCHEMA, TOOLS, Asked, PastCall
from tests.flows.whole_message import message_of, usage_of, whole_details

# Where a format wants a limit and none is asked for.
NO_LIMIT = 4000
Body = dict[str, Any]
# What each answer has of its own.
OWN = frozenset({"id", "episode_id", "created_at", "completed_at", "timings"})
# Which event adds to an item of a response, and to which of its texts.
ADDED = {
    "response.output_text.delta": "text",
    "response.reasoning_summary_text.delta": "summary",
    "response.function_call_arguments.delta": "arguments",
}


class Format(Protocol):
    name: str
    path: str

    def write(self, asked: Asked, *, stream: bool) -> Body:
        """Return the request, without its model."""

    def read(self, answer: Answer) -> Body:
        """Return all that an answer says."""


def without_own(answer: Body) -> Body:
    return {name: value for name, value in answer.items() if name not in OWN}


def without_none(body: Body) -> Body:
    return {name: value for name, value in body.items() if value is not None}


class ChatCompletions:
    name = "chat"
    path = CHAT

    def write(self, asked: Asked, *, stream: bool) -> Body:
        turns: list[Body] = [{"role": "system", "content": asked.system}] if asked.system else []
        for each in asked.rounds:
            turns.append({"role": "user", "content": each.question})
            if each.calls:
                calls = [self._write_call(call) for call in each.calls]
                turns.append({"role": "assistant", "content": None, "tool_calls": calls})
            turns += [
                {"role": "tool", "tool_call_id": call.id, "content": call.result}
                for call in each.calls
            ]
            turns.append({"role": "assistant", "content": each.answer})
        tool: Body = {"description": "Look something up.", "parameters": TOOL_SCHEMA}
        tools = [{"type": "function", "function": {"name": name} | tool} for name in TOOLS]
        json_schema = {"name": "weather", "schema": ANSWER_SCHEMA, "strict": True}
        schema = {"type": "json_schema", "json_schema": json_schema}
        return without_none(
            {
                "messages": [*turns, {"role": "user", "content": asked.script}],
                "tools": tools if asked.form == "tools" else None,
                "logprobs": True if asked.form == "logprobs" else None,
                "top_logprobs": 2 if asked.form == "logprobs" else None,
                "response_format": schema if asked.form == "schema" else None,
                "max_tokens": asked.max_tokens,
                "temperature": asked.temperature,
                "parallel_tool_calls": asked.has_parallel_calls,
                "reasoning_effort": asked.effort,
                "stream": stream,
                # A whole answer has it in any case.
                "stream_options": {"include_usage": True} if stream else None,
            }
        )

    def _write_call(self, call: PastCall) -> Body:
        function = {"name": TOOLS[0], "arguments": json.dumps(call.arguments)}
        return {"id": call.id, "type": "function", "function": function}

    def read(self, answer: Answer) -> Body:
        message = message_of(answer)
        is_cut = message["finish_reason"] == "length"
        for number, call in enumerate(message.get("tool_calls", ())):
            call["id"] = f"call {number}"
            arguments = call["function"]["arguments"]
            call["function"]["arguments"] = read_arguments(arguments, is_cut=is_cut)
        details = whole_details(message.get("reasoning_details", []))
        for detail in details:
            detail["signature"] = bool(detail.get("signature"))
        names = ("reasoning", "tool_calls", "annotations", "finish_reason")
        return {
            "content": message["content"] or "",
            "details": details,
            "usage": usage_of(answer),
            "logprobs": logprobs_of(answer),
            **{name: message.get(name) for name in names},
        }


def logprobs_of(answer: Answer) -> list[Body]:
    """Return the probabilities of all tokens."""
    is_stream = answer.headers["content-type"].startswith("text/event-stream")
    parts = answer.chunks if is_stream else [answer.json]
    found = [choice.get("logprobs") for part in parts for choice in part["choices"]]
    return [token for logprobs in found if logprobs for token in logprobs["content"] or ()]


def read_arguments(text: str, *, is_cut: bool) -> Any:
    """Return the arguments. Those that the limit has cut off are nothing in a whole answer."""
    try:
        return json.loads(text)
    except ValueError:
        assert is_cut
        return {}


class Messages:
    name = "messages"
    path = messages.MESSAGES

    def write(self, asked: Asked, *, stream: bool) -> Body:
        turns: list[Body] = []
        for each in asked.rounds:
            turns.append({"role": "user", "content": each.question})
            if each.calls:
                turns += [
                    {"role": "assistant", "content": [self._write_call(c) for c in each.calls]},
                    {"role": "user", "content": [self._write_result(c) for c in each.calls]},
                ]
            turns.append({"role": "assistant", "content": each.answer})
        tool: Body = {"description": "Look something up.", "input_schema": TOOL_SCHEMA}
        tools = [{"name": name} | tool for name in TOOLS]
        config: Body = {"effort": asked.effort} if asked.effort else {}
        if asked.form == "schema":
            config["format"] = {"type": "json_schema", "schema": ANSWER_SCHEMA}
        choice = None
        if asked.has_parallel_calls is not None:
            is_disabled = not asked.has_parallel_calls
            choice = {"type": "auto", "disable_parallel_tool_use": is_disabled}
        return without_none(
            {
                "system": asked.system or None,
                "messages": [*turns, {"role": "user", "content": asked.script}],
                "tools": tools if asked.form == "tools" else None,
                "max_tokens": asked.max_tokens or NO_LIMIT,
                "temperature": asked.temperature,
                "tool_choice": choice,
                "output_config": config or None,
                "stream": stream,
            }
        )

    def _write_call(self, call: PastCall) -> Body:
        return {"type": "tool_use", "id": call.id, "name": TOOLS[0], "input": call.arguments}

    def _write_result(self, call: PastCall) -> Body:
        return {"type": "tool_result", "tool_use_id": call.id, "content": call.result}

    def read(self, answer: Answer) -> Body:
        message = messages.message_of(answer)
        blocks = message["content"]
        if message["stop_reason"] == "max_tokens" and blocks and blocks[-1]["type"] == "tool_use":
            # What the limit cut off is text in a stream, and cannot be told in a whole answer.
            blocks[-1]["input"] = "cut off"
        for number, block in enumerate(blocks):
            for name in {"id", "signature", "data"} & block.keys():
                block[name] = f"{name} {number}" if block[name] else ""
        return without_own(message)


class Responses:
    name = "responses"
    path = responses.RESPONSES

    def write(self, asked: Asked, *, stream: bool) -> Body:
        items: list[Body] = []
        for each in asked.rounds:
            items.append({"role": "user", "content": each.question})
            items += [self._write_call(call) for call in each.calls]
            items += [
                {"type": "function_call_output", "call_id": call.id, "output": call.result}
                for call in each.calls
            ]
            items.append({"role": "assistant", "content": each.answer})
        tool: Body = {"type": "function", "description": "Look up.", "parameters": TOOL_SCHEMA}
        tools = [{"name": name, "strict": False} | tool for name in TOOLS]
        schema = {"type": "json_schema", "name": "weather", "schema": ANSWER_SCHEMA, "strict": True}
        has_logprobs = asked.form == "logprobs"
        return without_none(
            {
                "instructions": asked.system or None,
                "input": [*items, {"role": "user", "content": asked.script}],
                "tools": tools if asked.form == "tools" else None,
                "include": ["message.output_text.logprobs"] if has_logprobs else None,
                "top_logprobs": 2 if has_logprobs else None,
                "text": {"format": schema} if asked.form == "schema" else None,
                "max_output_tokens": asked.max_tokens,
                "temperature": asked.temperature,
                "parallel_tool_calls": asked.has_parallel_calls,
                "reasoning": {"effort": asked.effort} if asked.effort else None,
                "store": False,
                "stream": stream,
            }
        )

    def _write_call(self, call: PastCall) -> Body:
        arguments = json.dumps(call.arguments)
        return {
            "type": "function_call",
            "call_id": call.id,
            "name": TOOLS[0],
            "arguments": arguments,
        }

    def read(self, answer: Answer) -> Body:
        response = responses.response_of(answer).model_dump(exclude_none=True)
        if answer.headers["content-type"].startswith("text/event-stream"):
            assert_pieces_are_whole(responses.events_of(answer), response["output"])
        is_cut = response["status"] == "incomplete"
        for number, item in enumerate(response["output"]):
            for name in {"id", "call_id", "encrypted_content"} & item.keys():
                item[name] = f"{name} {number}"
            if item["type"] == "function_call":
                item["arguments"] = read_arguments(item["arguments"], is_cut=is_cut)
        return without_own(response)


def assert_pieces_are_whole(events: list[Body], output: list[Body]) -> None:
    """Assert that the pieces of a stream come to the items that its last event has."""
    pieces: dict[tuple[int, str], str] = defaultdict(str)
    for event in events:
        if event["type"] in ADDED:
            pieces[event["output_index"], ADDED[event["type"]]] += event["delta"]
    whole: dict[tuple[int, str], str] = defaultdict(str)
    for number, item in enumerate(output):
        for part in (*item.get("content", ()), *item.get("summary", ())):
            name = "summary" if item["type"] == "reasoning" else "text"
            whole[number, name] += part["text"]
        whole[number, "arguments"] += item.get("arguments", "")
    assert pieces == {place: text for place, text in whole.items() if text}


FORMATS: tuple[Format, ...] = (ChatCompletions(), Messages(), Responses())
