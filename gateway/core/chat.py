"""A chat completion request, whatever format it came in, and what its messages are made of.

`ChatRequest.fields` are in OpenAI's spelling. Adapters of other dialects translate them, and read
their messages by gateway.core.chat_messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from gateway.core.answer_steps import AnswerStep
from gateway.core.attachment_tokens import Picture
from gateway.core.call import Call, Payload
from gateway.core.reasoning import FIELD
from gateway.core.result_steps import ResultStep

# Fields of an answer's message that no model reads. Programs send messages back as they came.
OF_ANSWERS = frozenset({"annotations", "images"})
# Where a message has a refusal, which is its text for providers that have no refusals.
REFUSAL = "refusal"


class ChatRequest(Payload, frozen=True, kw_only=True):
    """What a chat completion asks for."""

    operation = "chat"

    # The messages as the endpoint's own types.
    messages: Sequence[Any]
    # What stream_options asked for; None when it did not say.
    include_usage: bool | None = None
    # The smaller of the two spellings; None when the caller set no limit.
    max_tokens: int | None = None
    # An upper bound of the prompt, without `pictures`, which models count differently.
    prompt_tokens_bound: int = 0
    pictures: tuple[Picture, ...] = ()
    # The most that tools of the gateway may run; None where the caller did not say.
    max_tool_runs: int | None = None
    # What processors have left to be done with the answer, in order.
    answer_steps: tuple[AnswerStep, ...] = ()
    # What they do with results of server tools, as one step; None: nothing.
    result_step: ResultStep | None = None


ChatCall = Call[ChatRequest]


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a message."""

    # Its place in the request, as errors name it.
    param: str
    # The caller's mark for the prompt cache, as it was sent; None where there is none.
    cache_control: msgspec.Raw | None = None


class Text(Part, frozen=True, kw_only=True):
    text: str


class Image(Part, frozen=True, kw_only=True):
    """A picture: its bytes, or its URL."""

    # In lower case.
    media_type: str = ""
    # In base64.
    data: str = ""
    url: str = ""


class Audio(Part, frozen=True, kw_only=True):
    # wav, mp3, pcm16 or webm.
    format: str
    # In base64.
    data: str


class Document(Part, frozen=True, kw_only=True):
    """A file that is no picture. One that is still to be fetched has no bytes yet."""

    # In lower case.
    media_type: str
    # In base64.
    data: str
    name: str = ""


class ToolCall(Part, frozen=True, kw_only=True):
    id: str
    name: str
    # JSON, as the model wrote it.
    arguments: str


class ToolResult(Part, frozen=True, kw_only=True):
    call_id: str
    content: tuple[Text, ...]


class Reasoning(Part, frozen=True, kw_only=True):
    """What a model thought, in its turn (gateway.core.reasoning)."""

    # What can be read of it; empty where there is nothing but `data` or a signature.
    text: str = ""
    # The text is what a provider tells of it, not what the model thought.
    is_summary: bool = False
    # The provider's, of the text.
    signature: str = ""
    # Encrypted: for the provider alone.
    data: str = ""
    # Who can read signature and data; empty where nobody said.
    format: str = ""
    # The provider's. Of the signature of a tool call: that call's.
    id: str = ""

    @property
    def is_detail(self) -> bool:
        """True for an entry of reasoning_details, False for a text by itself."""
        return self.param.endswith(FIELD)


AnyPart = Text | Image | Audio | Document | ToolCall | ToolResult | Reasoning


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """A message in a form that all dialects can be written from."""

    # That of tools has one part, a ToolResult. Developers' messages are the system's.
    role: Literal["system", "user", "assistant", "tool"]
    # In the order in which they were said: reasoning, text and files, calls of tools.
    parts: tuple[AnyPart, ...]
    param: str
    # The mark of the whole message.
    cache_control: msgspec.Raw | None = None
