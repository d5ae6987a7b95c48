"""POST /audio/speech, outbound: pieces of sound to the bytes of a file, or to OpenAI's events."""

from __future__ import annotations

from binascii import b2a_base64
from typing import NoReturn

import msgspec
from msgspec import UNSET

from gateway.core.errors import GatewayError
from gateway.core.events import Answer, AudioPiece, WrittenEvent
from gateway.core.money import usd
from gateway.core.receipt import Receipt
from gateway.endpoints.base import AnswerForm
from gateway.endpoints.speech.schema import SpeechDone, SpeechUsage
from gateway.http.error_format import render_error
from gateway.http.sse import DATA, END, KEEP_ALIVE


class FileWriter:
    """A StreamWriter of nothing but the file (gateway.core.call.Payload.answer_type): what goes
    wrong, and what it costs, has no place in it."""

    keep_alive = b""
    fallback: tuple[str, int] | None = None
    ends_with_whole = False

    def __init__(self) -> None:
        self.is_open = False

    def open(self) -> bytes:
        self.is_open = True
        return b""

    def write_answer(self, answer: Answer, receipt: Receipt) -> NoReturn:
        raise AssertionError("Speech is always streamed.")

    def write(self, event: WrittenEvent) -> bytes:
        if not isinstance(event, AudioPiece):
            return b""
        self.is_open = True
        return event.data

    def close(self, receipt: Receipt) -> list[bytes]:
        return []

    def fail(self, error: GatewayError) -> bytes:
        return b""


class SpeechEventWriter(FileWriter):
    """A StreamWriter of events."""

    keep_alive = KEEP_ALIVE

    def __init__(self, form: AnswerForm) -> None:
        super().__init__()
        self._form = form

    def write(self, event: WrittenEvent) -> bytes:
        if not isinstance(event, AudioPiece):
            return b""
        self.is_open = True
        audio = b2a_base64(event.data, newline=False)
        return DATA + b'{"type":"speech.audio.delta","audio":"' + audio + b'"}' + END

    def close(self, receipt: Receipt) -> list[bytes]:
        usage, form = receipt.usage, self._form
        done = SpeechDone(
            usage=SpeechUsage(
                usage.others.get("character", 0),
                usage.prompt_tokens,
                usage.completion_tokens,
                usage.prompt_tokens + usage.completion_tokens,
                usd(receipt.charge_nusd),
            ),
            credits_used=form.credits(receipt),
            episode_id=form.episode_id or UNSET,
        )
        return [DATA + msgspec.json.encode(done) + END]

    def fail(self, error: GatewayError) -> bytes:
        body = render_error(error, self._form.call_id, self._form.profile)[1]
        return DATA + msgspec.json.encode(body) + END
