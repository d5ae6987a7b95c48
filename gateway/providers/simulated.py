"""The built-in provider: answers in OpenAI's dialect without any network, the same every time.

It serves demonstrations, first runs and tests. A last user message that starts with `script:`
scripts it with a query string; every name is optional:

    script:tokens=20&first_ms=100&delay_ms=5&reasoning=4&tool=get_weather&finish=length
    script:fail=503                an HTTP error of that status instead of an answer
    script:fail_after=3            an error inside the stream after three tokens
    script:break_after=3           the connection breaks after three tokens
    script:text=Hello+there        exactly this text

Without a script it says what it was asked, calls a tool whose name the question mentions,
fills a JSON schema, and ends. max_tokens and n are obeyed; all choices say the same. Who gives
`functions`, which came before `tools`, is answered with a function_call. Counts: one completion
token for each word of each choice, and for the prompt a quarter of its bytes. Embeddings are in
simulated_embeddings.py, text completions in simulated_completions.py, speech and transcripts in
simulated_audio.py, the rest in simulated_operations.py.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from urllib.parse import parse_qsl

import msgspec

from gateway.core.json_types import JsonObject, JsonValue
from gateway.providers.base import UpstreamRequest
from gateway.providers.simulated_audio import answer_audio
from gateway.providers.simulated_completions import as_chat, as_text, generated
from gateway.providers.simulated_embeddings import answer_embeddings
from gateway.providers.simulated_json import fill_schema
from gateway.providers.simulated_operations import answer_operation

SCRIPT = "script:"
MAX_NUMBER = 100_000
MAX_DELAY_MS = 60_000.0
# Longer scripts are no scripts, and no tool is looked for behind these characters of a question.
MAX_SCRIPT_CHARS = 64 * 1024
MAX_HEARD_CHARS = 2_000
MAX_FIELDS = 64
# What a schema that is none comes to, once it is filled.
MALFORMED = (LookupError, TypeError, ValueError, AttributeError, ArithmeticError)
_WORD = re.compile(r"\S+\s*")
_NAME_PART = re.compile(r"[a-z]{4,}")
_encode = msgspec.json.encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """What to do. Times in milliseconds; *_after count tokens, -1 is never.

    choices: so many alike. is_legacy: a tool is called as function_call. texts: the request for
    text completions that it is for; None for a chat's.
    """

    words: tuple[str, ...] = ()
    reasoning: tuple[str, ...] = ()
    tool: JsonObject | None = None
    finish: str = "stop"
    first_ms: float = 0
    delay_ms: float = 0
    fail: int = 0
    fail_after: int = -1
    break_after: int = -1
    choices: int = 1
    is_legacy: bool = False
    texts: JsonObject | None = None

    @property
    def made(self) -> int:
        """Choices that are made, whether they are returned or not."""
        return self.choices if self.texts is None else generated(self.texts)


class ScriptedBreak(Exception):
    """The connection broke, as scripted."""


class SimulatedTransport:
    """Carries requests nowhere: reads them and answers."""

    async def open(self, request: UpstreamRequest) -> SimulatedResponse:
        request.was_sent = True
        if (sound := answer_audio(request)) is not None:
            return SimulatedResponse(200, sound)
        asked = msgspec.json.decode(request.body)
        said = answer_operation(request.url, request.body, request.prompt_tokens)
        if said is not None:
            return SimulatedResponse(200, iter_once(said))
        if "input" in asked:
            work = asyncio.to_thread(answer_embeddings, request.body, request.prompt_tokens)
            status, body = await work
            return SimulatedResponse(status, iter_once(body))
        try:
            script = read_script(asked)
        except MALFORMED:
            message = "A tool, a function or the response schema is invalid."
            refusal = {"error": {"message": message}}
            return SimulatedResponse(400, iter_once(_encode(refusal)))
        if script.first_ms:
            await asyncio.sleep(script.first_ms / 1000)
        if script.fail:
            error = {"error": {"message": "Scripted failure.", "type": "simulated", "code": None}}
            return SimulatedResponse(script.fail, iter_once(_encode(error)))
        usage = {
            "prompt_tokens": request.prompt_tokens,
            "completion_tokens": script.made * (len(script.words) + len(script.reasoning)),
            "completion_tokens_details": {"reasoning_tokens": script.made * len(script.reasoning)},
        }
        chunks = stream(script, usage) if asked.get("stream") else answer(script, usage)
        return SimulatedResponse(200, chunks)

    async def aclose(self) -> None:
        """Nothing is open."""


class SimulatedResponse:
    """An answer made up as it is read."""

    broken_by: tuple[type[Exception], ...] = (ScriptedBreak,)

    def __init__(self, status: int, chunks: AsyncGenerator[bytes, None]) -> None:
        self.status = status
        self.headers: Mapping[str, str] = {"content-type": "application/json"}
        self.is_encoded = False
        self._chunks = chunks

    async def read(self) -> bytes:
        return await anext(self._chunks, b"")

    def take_whole(self) -> bytes | None:
        """See UpstreamResponse."""
        return None

    async def forward(self, take: Callable[[bytes], bool]) -> bool:
        while piece := await self.read():
            if not take(piece):
                return True
        return False

    async def read_rest(self) -> None:
        while await self.read():
            pass

    def release(self) -> None:
        """Nothing is held."""


async def iter_once(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body


async def answer(script: Script, usage: Mapping[str, object]) -> AsyncGenerator[bytes, None]:
    """Yield a buffered answer, after the time its tokens take."""
    if script.delay_ms:
        await asyncio.sleep(script.delay_ms * len(script.words) / 1000)
    if script.break_after >= 0:
        raise ScriptedBreak
    message: dict[str, object] = {"role": "assistant", "content": "".join(script.words)}
    if script.reasoning:
        message["reasoning_content"] = "".join(script.reasoning)
    if script.tool is not None:
        called = {"function_call": script.tool["function"]} if script.is_legacy else None
        message |= {"content": None, **(called or {"tool_calls": [script.tool]})}
    choice = {"message": message, "finish_reason": script.finish}
    choices = [_spell({"index": index, **choice}, script.texts) for index in range(script.choices)]
    yield _encode({"object": "chat.completion", "choices": choices, "usage": usage})


async def stream(script: Script, usage: Mapping[str, object]) -> AsyncGenerator[bytes, None]:
    """Yield a stream, one token of a choice a chunk."""
    for position, delta in enumerate(deltas(script)):
        if script.delay_ms and position:
            await asyncio.sleep(script.delay_ms / 1000)
        if position == script.break_after:
            raise ScriptedBreak
        if position == script.fail_after:
            yield b"data: " + _encode({"error": {"message": "Scripted.", "code": 500}}) + b"\n\n"
            return
        for index in range(script.choices):
            choice = {"index": index, "delta": delta, "finish_reason": None}
            yield frame({"choices": [_spell(choice, script.texts)]})
    for index in range(script.choices):
        choice = {"index": index, "delta": {}, "finish_reason": script.finish}
        yield frame({"choices": [_spell(choice, script.texts)]})
    yield frame({"choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def _spell(choice: JsonObject, texts: JsonObject | None) -> JsonObject:
    return choice if texts is None else as_text(choice, texts)


def deltas(script: Script) -> Iterator[Mapping[str, object]]:
    yield from ({"reasoning_content": word} for word in script.reasoning)
    if script.tool is not None:
        function = script.tool["function"]
        pieces = re.findall(r".{1,8}", function["arguments"])
        if script.is_legacy:
            yield {"function_call": {**function, "arguments": ""}}
            yield from ({"function_call": {"arguments": piece}} for piece in pieces)
            return
        opening = {**script.tool, "index": 0, "function": {**function, "arguments": ""}}
        yield {"tool_calls": [opening]}
        for piece in pieces:
            yield {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}
        return
    yield from ({"content": word} for word in script.words)


def frame(chunk: Mapping[str, object]) -> bytes:
    return b"data: " + _encode({"object": "chat.completion.chunk", **chunk}) + b"\n\n"


def read_script(asked: JsonObject) -> Script:
    """Return what the request asks for, its output limit already applied."""
    if "prompt" in asked:
        script = replace(read_script(as_chat(asked)), texts=asked)
        return limited(script, 0) if asked.get("max_tokens") == 0 else script
    last = asked["messages"][-1]
    said = text_of(last.get("content"))
    is_short = len(said) <= MAX_SCRIPT_CHARS
    if last.get("role") == "user" and is_short and said.startswith(SCRIPT):
        wish = parse_qsl(said[len(SCRIPT) :].strip(), max_num_fields=MAX_FIELDS)
        script = scripted(dict(wish))
    elif tool := wanted_tool(asked, last, said):
        script = Script(words=("call",), tool=tool, finish="tool_calls")
    else:
        script = Script(words=tuple(_WORD.findall(reply(asked, said))))
    choices = asked.get("n") or 1
    limit = asked.get("max_tokens") or asked.get("max_completion_tokens") or MAX_NUMBER
    script = limited(script, min(limit, MAX_NUMBER // choices))
    is_legacy = bool(asked.get("functions")) and not asked.get("tools")
    finish = "function_call" if is_legacy and script.finish == "tool_calls" else script.finish
    return replace(script, choices=choices, is_legacy=is_legacy, finish=finish)


def scripted(wish: Mapping[str, str]) -> Script:
    """Return the script of a query string; a number that is none counts as its default."""
    words = tuple(f"word{n} " for n in range(int(number(wish, "tokens", 10))))
    if "text" in wish:
        words = tuple(_WORD.findall(wish["text"]))
    tool = None
    if "tool" in wish:
        tool, words = tool_call(wish["tool"], wish.get("arguments", "{}")), ("call",)
    return Script(
        words=words,
        reasoning=tuple(f"thought{n} " for n in range(int(number(wish, "reasoning", 0)))),
        tool=tool,
        finish=wish.get("finish", "tool_calls" if tool else "stop"),
        first_ms=min(number(wish, "first_ms", 0), MAX_DELAY_MS),
        delay_ms=min(number(wish, "delay_ms", 0), MAX_DELAY_MS),
        fail=int(number(wish, "fail", 0)),
        fail_after=int(number(wish, "fail_after", -1)),
        break_after=int(number(wish, "break_after", -1)),
    )


def number(wish: Mapping[str, str], name: str, default: float) -> float:
    """Return a number of a script, between -1 and what any of them may be."""
    try:
        wanted = float(wish.get(name, default))
    except ValueError:
        return default
    return min(max(wanted, -1), MAX_NUMBER) if isfinite(wanted) else default


def limited(script: Script, max_tokens: int) -> Script:
    """Return the script cut to the limit, reasoning first, as a model would be cut."""
    if len(script.words) + len(script.reasoning) <= max_tokens:
        return script
    reasoning = script.reasoning[:max_tokens]
    words = script.words[: max_tokens - len(reasoning)]
    return replace(script, words=words, reasoning=reasoning, tool=None, finish="length")


def reply(asked: JsonObject, said: str) -> str:
    """Return the unscripted answer: JSON where JSON is wanted, else what was heard."""
    wanted = asked.get("response_format") or {}
    if wanted.get("type") == "json_schema":
        schema = (wanted.get("json_schema") or {}).get("schema") or {}
        return _encode(fill_schema(schema)).decode()
    if wanted.get("type") == "json_object":
        return _encode({"answer": said[:200]}).decode()
    if asked["messages"][-1].get("role") in ("tool", "function"):
        return f"The tool answered: {said[:500]}"
    return f"This is the simulated model. You said: {said[:500]}"


def wanted_tool(asked: JsonObject, last: JsonObject, said: str) -> JsonObject | None:
    """Return the tool call that the request forces or the question suggests, if any."""
    tools, choice = offered_tools(asked)
    if not tools or choice == "none":
        return None
    if isinstance(choice, Mapping):
        name = choice["name"]
    elif choice == "required":
        name = next(iter(tools))
    else:
        if last.get("role") != "user":
            return None
        heard = said[:MAX_HEARD_CHARS].lower()
        mentioned = (n for n in tools if any(w in heard for w in _NAME_PART.findall(n)))
        name = next(mentioned, "")
    if name not in tools:
        return None
    arguments = fill_schema(tools[name].get("parameters") or {})
    return tool_call(name, _encode(arguments).decode())


def offered_tools(asked: JsonObject) -> tuple[JsonObject, JsonValue]:
    """Return the functions that may be called, by name, and which: auto, none, required, or an
    object that names one. Tools that are no functions are never called."""
    functions, choice = asked.get("functions"), asked.get("function_call")
    given = asked.get("tools")
    if given or not functions:
        functions = [tool["function"] for tool in given or () if tool["type"] == "function"]
        choice = asked.get("tool_choice")
        if isinstance(choice, Mapping):
            choice = choice["function"] if choice["type"] == "function" else {"name": ""}
    return {function["name"]: function for function in functions}, choice or "auto"


def tool_call(name: str, arguments: str) -> JsonObject:
    return {
        "id": "call_simulated_0",
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def text_of(content: object) -> str:
    """Return the text of a message's content, in either of its shapes."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return " ".join(part["text"] for part in content if part.get("type") == "text")
    return ""
