"""Speech and transcripts of the built-in provider.

Speech is silence, a fifth of a second for each word, in MP3, WAV or raw samples of 8 bits whatever
else was asked for. A transcript says which file was sent, and takes its size for its length.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncGenerator, Iterator

import msgspec

from gateway.core.audio import MS_PER_S, USUAL_BYTES_PER_S
from gateway.core.forms import FormPart, read_boundary, read_form
from gateway.core.json_types import JsonObject
from gateway.providers.base import UpstreamRequest

# MPEG-1 layer III, 128 kbit/s, 44.1 kHz, mono: a frame without sound, 26 ms.
MP3_FRAME = b"\xff\xfb\x90\xc4" + bytes(413)
FRAMES_PER_WORD = 8
SAMPLES_PER_S = 8_000
SAMPLES_PER_WORD = SAMPLES_PER_S // 5
SILENCE = b"\x80" * SAMPLES_PER_WORD
# Their length is not known before the end.
WAV_HEAD = (
    b"RIFF\xff\xff\xff\xffWAVEfmt \x10\0\0\0\x01\0\x01\0"
    + 2 * SAMPLES_PER_S.to_bytes(4, "little")
    + b"\x01\0\x08\0data\xff\xff\xff\xff"
)
_encode = msgspec.json.encode


def answer_audio(request: UpstreamRequest) -> AsyncGenerator[bytes, None] | None:
    """Return the body of the response in pieces; None for a request for something else."""
    if request.url.endswith("/audio/speech"):
        return iterate(speak(msgspec.json.decode(request.body), request.prompt_tokens))
    if not request.url.endswith(("/audio/transcriptions", "/audio/translations")):
        return None
    boundary = read_boundary(request.headers["content-type"].encode())
    parts = {part.name: part for part in read_form(request.body, boundary)}
    return iterate(transcribe(parts))


async def iterate(pieces: Iterator[bytes]) -> AsyncGenerator[bytes, None]:
    for piece in pieces:
        yield piece


def speak(asked: JsonObject, prompt_tokens: int) -> Iterator[bytes]:
    """Yield a file, a word a piece, or events with the same."""
    words = asked["input"].split() or [""]
    kind = asked.get("response_format")
    head = WAV_HEAD if kind == "wav" else b""
    word = SILENCE if kind in ("wav", "pcm") else MP3_FRAME * FRAMES_PER_WORD
    pieces = [head + word, *[word] * (len(words) - 1)]
    if asked.get("stream_format") != "sse":
        yield from pieces
        return
    for piece in pieces:
        audio = b64encode(piece).decode()
        yield event({"type": "speech.audio.delta", "audio": audio})
    usage = {"input_tokens": prompt_tokens, "output_tokens": len(words)}
    usage["total_tokens"] = prompt_tokens + len(words)
    yield event({"type": "speech.audio.done", "usage": usage})


def transcribe(parts: dict[str, FormPart]) -> Iterator[bytes]:
    """Yield a transcript, or events with a word each."""
    file = parts["file"]
    text = f"You sent {file.filename or 'a file'}, {len(file.content)} bytes."
    seconds = -(-len(file.content) * MS_PER_S // USUAL_BYTES_PER_S) / MS_PER_S
    usage = {"type": "duration", "seconds": seconds}
    if "stream" in parts:
        for word in text.split(" "):
            yield event({"type": "transcript.text.delta", "delta": f"{word} "})
        yield event({"type": "transcript.text.done", "text": text, "usage": usage})
        return
    answer: JsonObject = {"text": text, "usage": usage}
    if parts["response_format"].content != b"json":
        segment = {"id": 0, "start": 0.0, "end": seconds, "text": text}
        answer |= {"language": "english", "duration": seconds, "segments": [segment]}
        answer["task"] = "transcribe"
    yield _encode(answer)


def event(said: JsonObject) -> bytes:
    return b"data: " + _encode(said) + b"\n\n"
