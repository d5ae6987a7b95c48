"""Chat completions over Anthropic's Messages API as Bedrock serves it: InvokeModel and
InvokeModelWithResponseStream.

References: https://platform.claude.com/docs/en/build-with-claude/claude-on-amazon-bedrock and
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModelWithResponseStream.html
An event of a stream is the JSON of one of Anthropic's, in base64.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterator
from urllib.parse import quote

import msgspec

from gateway.core.chat import ChatCall
from gateway.core.grant import Grant
from gateway.providers.anthropic.answers import MessagesDecoder
from gateway.providers.anthropic.chat import AnthropicChat, write_request
from gateway.providers.anthropic.envelope import Envelope
from gateway.providers.aws.errors import read_error, read_exception
from gateway.providers.aws.request import EVENT_STREAM, secrets_of_request
from gateway.providers.aws.request import write_request as write_aws_request
from gateway.providers.base import Decoder, UpstreamRequest
from gateway.providers.bedrock.chat import SERVICE
from gateway.providers.framing.aws_event_stream import EVENT, EventStreamMessages
from gateway.providers.guided_decoding import wraps_choice
from gateway.providers.invalid import invalid_stream
from gateway.providers.translation import bound_prompt
from gateway.snapshot.types import TargetRecord

CHUNK = "chunk"


class Chunk(msgspec.Struct):
    """The payload of an event. bytes: in base64."""

    bytes: str


_decode_chunk = msgspec.json.Decoder(Chunk).decode


class Chunks:
    """The framing: a frame is the JSON of one of Anthropic's events."""

    __slots__ = ("_messages",)

    def __init__(self) -> None:
        self._messages = EventStreamMessages()

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """Raises StreamBroken, and what an exception means, after the frames before it."""
        for label, payload in self._messages.feed(chunk):
            if label.kind != EVENT:
                raise read_exception(label.name, payload or label.text.encode())
            if label.name == CHUNK:
                yield _read_chunk(payload)

    def finish(self) -> Iterator[bytes]:
        self._messages.finish()
        return iter(())


class BedrockAnthropicChat(AnthropicChat):
    """Chat completions for providers of the `anthropic_bedrock` dialect."""

    envelope = Envelope(
        version="bedrock-2023-05-31",
        has_model=False,
        has_stream=False,
        takes_betas_in_header=False,
    )

    def build_request(self, call: ChatCall, grant: Grant, target: TargetRecord) -> UpstreamRequest:
        stream = call.facts.stream
        request = write_aws_request(
            self.address(call, target),
            write_request(call, grant, target, self.envelope),
            grant=grant,
            target=target,
            service=SERVICE,
            accept=EVENT_STREAM if stream else "application/json",
        )
        request.prompt_tokens = bound_prompt(call)
        request.wraps_choice = wraps_choice(call)
        return request

    def address(self, call: ChatCall, target: TargetRecord) -> str:
        action = "invoke-with-response-stream" if call.facts.stream else "invoke"
        return f"{target.base_url}/model/{quote(target.native_model, safe='')}/{action}"

    read_error = staticmethod(read_error)

    def open_decoder(self, request: UpstreamRequest) -> Decoder:
        return MessagesDecoder(Chunks())

    def secrets(self, request: UpstreamRequest) -> tuple[bytes, ...]:
        return secrets_of_request(request)


def _read_chunk(payload: bytes) -> bytes:
    try:
        return b64decode(_decode_chunk(payload).bytes, validate=True)
    except (msgspec.DecodeError, UnicodeDecodeError, binascii.Error, ValueError):
        raise invalid_stream(payload) from None
