"""OpenAI's older Completions API as the fake upstream speaks it: what it refuses, how it answers.

`script:` in the first prompt is obeyed. Under /mistral/v1 it is Mistral's API for code, which takes
one prompt and answers with the messages of a chat; under /deepseek/beta DeepSeek's.
"""

from __future__ import annotations

from typing import Any

import msgspec
from openai.types import Completion
from openai.types.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)

from tests.fakes import mistral
from tests.fakes.asked import Chat, Message, Request
from tests.fakes.book import Entry
from tests.fakes.dialect import LEFT_OUT, Writer, encode
from tests.fakes.generation import Step
from tests.fakes.openai.judges import judge_answer, judge_request
from tests.fakes.outgoing import Link
from tests.fakes.player import Player
from tests.fakes.script import Script
from tests.fakes.strictness import Refused

VLLMS = frozenset({"top_k", "min_p", "repetition_penalty", "ignore_eos"})
# Models that only chat, at OpenAI.
CHAT_MODELS = ("gpt-4o",)


class Asked(msgspec.Struct):
    """The body, once it was found to be good."""

    chat: Chat
    prompts: list[Any]
    generated: int
    echoes: bool = False
    logprobs: int | None = None
    is_mistral: bool = False


def read_asked(request: Request) -> Asked:
    """Return what was asked. Raises Refused, as the provider refuses."""
    try:
        body: dict[str, Any] = msgspec.json.decode(request.body)
    except msgspec.DecodeError as error:
        raise Refused(f"We could not parse the JSON body of your request: {error}") from None
    provider = request.path.split("/", 2)[1]
    if provider == "mistral":
        mistral.refuse_body(request.path, body)
    else:
        if provider == "openai" and body.get("model") in CHAT_MODELS:
            raise Refused("This is a chat model and not supported in the v1/completions endpoint.")
        plain = {name: v for name, v in body.items() if provider != "vllm" or name not in VLLMS}
        streams = bool(body.get("stream"))
        params: Any = CompletionCreateParamsNonStreaming
        # Prompts are judged below: the type has many kinds of them, and pydantic tries one.
        plain |= {"prompt": ""} if "prompt" in plain else {}
        judge_request(CompletionCreateParamsStreaming if streams else params, plain)
    return _asked(body, provider)


def _asked(body: dict[str, Any], provider: str) -> Asked:
    prompts = _prompts(body["prompt"])
    each = body.get("n") or 1
    best_of = body.get("best_of") or each
    if best_of < each:
        raise Refused("best_of must be greater than or equal to n.")
    if best_of > each and body.get("stream"):
        raise Refused("best_of cannot be streamed.")
    texts = [one for one in prompts if isinstance(one, str)]
    chat = Chat(
        model=body["model"],
        messages=[Message("user", text) for text in texts[:1]],
        stream=bool(body.get("stream")),
        # Mistral's streams report usage unasked.
        stream_options=body.get("stream_options")
        if provider != "mistral"
        else {"include_usage": True},
        max_tokens=16 if body.get("max_tokens") is None else body["max_tokens"],
        n=len(prompts) * each,
    )
    return Asked(
        chat,
        prompts,
        len(prompts) * best_of,
        bool(body.get("echo")),
        body.get("logprobs"),
        provider == "mistral",
    )


def _prompts(given: Any) -> list[Any]:
    is_one = isinstance(given, str) or (bool(given) and isinstance(given[0], int))
    prompts = [given] if is_one else list(given)
    if not prompts or not all(prompts) or len({type(one) for one in prompts}) > 1:
        raise Refused("Invalid 'prompt'.")
    return prompts


def count_tokens(one: Any) -> int:
    """Return a prompt's length: one word, one token."""
    return len(one.split()) if isinstance(one, str) else len(one)


class TextWriter(Writer):
    """Writes texts where the other one writes messages."""

    asked: Asked

    def chunk(self, choice: int, delta: bytes, *, finish: str = "", logprobs: Any = None) -> bytes:
        if self.asked.is_mistral:
            return super().chunk(choice, delta, finish=finish)
        said = msgspec.json.decode(delta)
        one = {
            "index": choice,
            "text": said.get("content", ""),
            "logprobs": None,
            "finish_reason": None if finish in ("", "null") else finish,
        }
        return encode(self._top() | {"choices": [one]})

    def usage_chunk(self, usage: Any) -> bytes:
        return encode(self._top() | {"choices": [], "usage": usage})

    def body(self, steps: list[Step], finish: str, usage: Any) -> bytes:
        asked = self.asked
        if asked.is_mistral:
            return super().body(steps, finish, usage)
        text = "".join(step.text for step in steps)
        each = len(range(self.chat.n or 1)) // len(asked.prompts)
        choices = [
            {
                "index": index,
                "text": (str(asked.prompts[index // each]) if asked.echoes else "") + text,
                "logprobs": self._text_logprobs(steps),
                "finish_reason": finish,
            }
            for index in range(self.chat.n or 1)
        ]
        answer = self._top() | {"choices": choices}
        if usage is not LEFT_OUT:
            answer["usage"] = usage
        if not self.script.usage:
            judge_answer(Completion, answer)
        return encode(answer)

    def _top(self) -> dict[str, Any]:
        return {
            "id": self._id.replace("chatcmpl", "cmpl"),
            "object": "text_completion",
            "created": self._created,
            "model": self._model,
            "system_fingerprint": "fp_fake",
        }

    def _text_logprobs(self, steps: list[Step]) -> Any:
        if self.asked.logprobs is None:
            return None
        words = [step.text for step in steps]
        return {
            "tokens": words,
            "token_logprobs": [-0.125] * len(words),
            "top_logprobs": [{word: -0.125} for word in words],
            "text_offset": [sum(map(len, words[:n])) for n in range(len(words))],
        }


class TextPlayer(Player):
    """Plays the answer to a request for text completions."""

    def __init__(
        self, link: Link, request: Request, asked: Asked, script: Script, entry: Entry, serial: int
    ) -> None:
        super().__init__(link, request, asked.chat, script, entry, serial)
        self._asked = asked
        self._writer = writer = TextWriter(asked.chat, script, serial)
        writer.asked = asked

    async def _start_stream(self) -> None:
        await self._out.send(self._speller.opening())

    async def _answer(self) -> None:
        # Every one that is generated counts, whether it is returned or not.
        self._chat.n, returned = self._asked.generated, self._chat.n
        steps = [step async for step in self._steps()]
        self._chat.n = returned
        await self._send_answer(steps)
