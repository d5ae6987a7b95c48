"""The Messages API as Bedrock serves it, by InvokeModel: the body has no model and no `stream`, but
the version, and the events of a stream are chunks.

Reference: docs.aws.amazon.com bedrock/latest/userguide/model-parameters-anthropic-claude-messages
"""

from __future__ import annotations

import base64
from typing import Any

import msgspec

from tests.fakes.anthropic.asked import read_chat
from tests.fakes.anthropic.player import MessagesPlayer
from tests.fakes.anthropic.refused import Refused as AnthropicRefused
from tests.fakes.anthropic.requests import refuse_body
from tests.fakes.asked import Chat, Request
from tests.fakes.bedrock.refused import Refused, name_refusal, write_failure
from tests.fakes.book import Entry
from tests.fakes.outgoing import Link
from tests.fakes.script import Script
from tests.fakes.spelling import Speller
from tests.support.event_stream import write_event

VERSION = "bedrock-2023-05-31"
EVENT_STREAM = "application/vnd.amazon.eventstream"
OPERATIONS = {"invoke": False, "invoke-with-response-stream": True}


def read_body(body: dict[str, Any], model: str, *, size_bytes: int, stream: bool) -> Chat:
    """Return what was asked. Raises Refused."""
    rest = dict(body)
    if rest.pop("anthropic_version", None) != VERSION:
        raise Refused("Malformed input request: #: required key [anthropic_version] not found")
    for name in ("model", "stream"):
        if name in rest:
            raise Refused(f"Malformed input request: extraneous key [{name}] is not permitted")
    betas = rest.pop("anthropic_beta", [])
    if not isinstance(betas, list):
        raise Refused("anthropic_beta: Input should be a valid list")
    native = model[model.find("claude") :]
    try:
        refuse_body({"model": native, **rest}, size_bytes)
    except AnthropicRefused as error:
        raise Refused(error.message, error.status if error.status in (400, 404) else 400) from None
    return read_chat({"model": model, **rest, "stream": stream})


class ChunkSpeller(Speller):
    """Turns events into the messages of an event stream."""

    def event(self, data: bytes, name: bytes = b"") -> bytes:
        chunk = {"bytes": base64.b64encode(data).decode(), "p": "abcdef"}
        return write_event("chunk", msgspec.json.encode(chunk))

    def opening(self) -> bytes:
        return b""

    def closing(self, chunk: bytes, done: bytes = b"", name: bytes = b"") -> bytes:
        return self.event(done)


class InvokedPlayer(MessagesPlayer):
    """One answer to one request."""

    stream_type = EVENT_STREAM

    def __init__(
        self, link: Link, request: Request, chat: Chat, script: Script, entry: Entry, serial: int
    ) -> None:
        super().__init__(link, request, chat, script, entry, serial)
        self._speller = ChunkSpeller(script)

    def _refusal_body(self) -> tuple[bytes, str]:
        if self._script.body != "json":
            return super()._refusal_body()
        self._out.extra_headers += name_refusal(self._script)
        return msgspec.json.encode({"message": self._script.message}), "application/json"

    async def _say_error(self) -> None:
        await self._out.send(write_failure(self._script))
