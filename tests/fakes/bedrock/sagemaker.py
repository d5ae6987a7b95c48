"""Endpoints of SageMaker: /sagemaker/endpoints/{name}/invocations and /invocations-response-stream.

Reference: docs.aws.amazon.com sagemaker/latest/APIReference/API_runtime_PayloadPart
An endpoint whose name begins with `tgi` has Text Generation Inference behind it, another a server
of OpenAI's format; one whose name ends with `lines` streams JSON lines. A stream is the server's
own, cut into the payloads of an event stream. The server of OpenAI's format reads a message as vLLM
does: docs.vllm.ai serving/openai_compatible_server
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from tests.fakes.asked import Chat, Request, read_chat
from tests.fakes.bedrock.refused import ModelRefused, Refused
from tests.fakes.book import Entry
from tests.fakes.dialect import Writer
from tests.fakes.outgoing import Link, Outgoing
from tests.fakes.refused import Refused as ServerRefused
from tests.fakes.script import Script
from tests.fakes.spelling import Speller
from tests.fakes.tgi import TgiPlayer, TgiWriter, error_body, refuse_body
from tests.support.event_stream import write_exception, write_message

EVENT_STREAM = "application/vnd.amazon.eventstream"
ADDRESS = re.compile(
    r"/sagemaker/endpoints/([a-zA-Z0-9-]+)/(invocations|invocations-response-stream)"
)
PART_BYTES = 37
MOST_PARTS = 100
PARTS_OF_VLLM = frozenset({"text", "image_url", "input_audio", "audio_url", "video_url"})
HEADERS = {
    ":event-type": "PayloadPart",
    ":content-type": "application/octet-stream",
    ":message-type": "event",
}


def is_meant(path: str) -> bool:
    return path.startswith("/sagemaker/")


def read_body(request: Request, body: dict[str, Any]) -> Chat:
    """Return what was asked. Raises Refused."""
    found = ADDRESS.fullmatch(request.path)
    if found is None:
        raise Refused(f"Endpoint {request.path} not found.", 400, "ValidationError")
    is_stream = found[2] != "invocations"
    if bool(body.get("stream")) != is_stream:
        raise Refused("stream: does not go with this operation", 400, "ValidationError")
    form = EVENT_STREAM if is_stream else "application/json"
    accepted = dict(request.headers).get("accept", form)
    if accepted != form:
        raise Refused(f"Not acceptable: {accepted}", 400, "ValidationError")
    try:
        if found[1].startswith("tgi"):
            refuse_body(body)
        else:
            _refuse_parts(body)
    except ServerRefused as error:
        raise ModelRefused(422, msgspec.json.encode(error_body(str(error))).decode()) from None
    try:
        return read_chat(request.body)
    except msgspec.DecodeError as error:
        raise Refused(str(error), 400, "ValidationError") from None


def _refuse_parts(body: dict[str, Any]) -> None:
    """Raise ServerRefused for a part of a message that vLLM cannot read."""
    for message in body["messages"]:
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if part["type"] not in PARTS_OF_VLLM:
                raise ServerRefused(f"Unknown part type: {part['type']}")


class PartsOutgoing(Outgoing):
    """Writes a body in payload parts, cut wherever they are full."""

    async def send(self, data: bytes) -> None:
        size = max(PART_BYTES, len(data) // MOST_PARTS)
        for start in range(0, len(data), size):
            await super().send(write_message(data[start : start + size], HEADERS))

    async def send_exception(self, name: str, payload: dict[str, Any]) -> None:
        await super().send(write_exception(name, msgspec.json.encode(payload)))


class LinesSpeller(Speller):
    """JSON lines instead of server-sent events, as some servers stream."""

    def event(self, data: bytes, name: bytes = b"") -> bytes:
        return data + b"\n"

    def opening(self) -> bytes:
        return b""

    def closing(self, chunk: bytes, done: bytes = b"", name: bytes = b"") -> bytes:
        return b""


class HostedPlayer(TgiPlayer):
    """One answer to one request. The name of the endpoint says what its server speaks."""

    stream_type = EVENT_STREAM

    def __init__(
        self, link: Link, request: Request, chat: Chat, script: Script, entry: Entry, serial: int
    ) -> None:
        super().__init__(link, request, chat, script, entry, serial)
        endpoint = request.path.split("/")[3]
        make = TgiWriter if endpoint.startswith("tgi") else Writer
        self._writer = make(chat, script, serial)
        self._parts = PartsOutgoing(link, script, keep_alive=request.keep_alive)
        if chat.stream:
            self._out = self._parts
        if endpoint.endswith("lines"):
            self._speller = LinesSpeller(script)

    async def _refuse(self) -> None:
        """Answer as the platform does for a server that did not answer 2xx."""
        script = self._script
        said, _ = self._refusal_body()
        name = "ModelError" if script.code in ("scripted", "overloaded") else script.code
        body: dict[str, object] = {"Message": script.message}
        status = script.fail
        if name == "ModelError":
            refused = ModelRefused(status, said.decode())
            body, status = refused.body(), refused.status
        data = msgspec.json.encode(body)
        out = Outgoing(self._link, script, keep_alive=False)
        out.extra_headers.append((b"x-amzn-errortype", name.encode()))
        out.open(status, "application/json", length=len(data))
        await out.send(data)
        await out.finish()

    async def _say_error(self) -> None:
        code = "ModelStreamError" if self._script.code == "scripted" else self._script.code
        await self._parts.send_exception(code, {"Message": self._script.message, "ErrorCode": "x"})
