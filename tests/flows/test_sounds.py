"""Sounds and pictures of calls: checked by their bytes, and sent as each provider takes them."""

from __future__ import annotations

import base64
import io
import json
import struct
import wave
from typing import Any

import pytest

from tests.flows.audio.asking import ask as ask_audio
from tests.flows.caller import Caller
from tests.flows.site import Site
from tests.flows.test_pictures import BMP, PDF, PICTURES, WAV, b64, image, sent

HOUR_S = 3_600
SAMPLES = struct.pack("<6h", *range(6))
MP3 = b"\xff\xfb\x90\xc4" + bytes(400)
WEBM = b"\x1a\x45\xdf\xa3" + bytes(40)


def wav(seconds: int) -> bytes:
    """Return a file that plays a byte a second."""
    return (
        b"RIFF\0\0\0\0WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 1, 1, 1, 8) + bytes(8 + seconds)
    )


def mp3(seconds: int) -> bytes:
    """Return a file whose first frame counts all: 44.1 kHz, behind an empty tag."""
    frames = struct.pack(">II", 1, seconds * 44_100 // 1_152 + 1)
    return b"ID3\x04\0\0\0\0\0\0\xff\xfb\x90\xc4" + bytes(17) + b"Xing" + frames + bytes(60)


def flac(seconds: int) -> bytes:
    packed = (8_000 << 44) | (15 << 36) | (8_000 * seconds)
    return b"fLaC\0\0\0\x22" + bytes(10) + struct.pack(">Q", packed) + bytes(16)


def opus(seconds: int) -> bytes:
    first = b"OggS\0\x02" + bytes(21) + b"\x13OpusHead" + bytes(11)
    return first + b"OggS\0\x04" + struct.pack("<q", 48_000 * seconds) + bytes(13)


def mp4(seconds: int) -> bytes:
    head = b"\0\0\0\x18ftypM4A " + bytes(12)
    return head + b"\0\0\0\x6cmvhd" + bytes(12) + struct.pack(">II", 1_000, 1_000 * seconds)


def sound(content: bytes, form: str) -> dict[str, Any]:
    return {"type": "input_audio", "input_audio": {"data": b64(content), "format": form}}


def refusal(caller: Caller, block: dict[str, Any]) -> tuple[str, str]:
    """Return what a refusal names and says."""
    answer = caller.ask(messages=[{"role": "user", "content": [block]}])
    assert (answer.status, answer.error["code"]) == (400, "invalid_file"), answer.body
    return answer.error["param"].removeprefix("messages[0].content[0]."), answer.error["message"]


NOT_AS_SAID = {
    "wav": (sound(MP3, "wav"), "The audio is audio/mpeg, not wav."),
    "mp3": (sound(WAV, "mp3"), "The audio is audio/wav, not mp3."),
    "webm": (sound(b"OggS" + bytes(40), "webm"), "The audio is audio/ogg, not webm."),
    "unknown": (sound(b"\0\1\2\3", "wav"), "The audio is not wav."),
    "a file as samples": (sound(WAV, "pcm16"), "The audio is audio/wav, not pcm16."),
    "half a sample": (sound(SAMPLES[:-1], "pcm16"), "it has half a sample"),
    "a long wav": (sound(wav(5 * HOUR_S), "wav"), "The audio lasts 18000 s."),
    "a long mp3": (sound(mp3(5 * HOUR_S), "mp3"), "The maximum is 14400 s."),
}


@pytest.mark.parametrize(("block", "message"), NOT_AS_SAID.values(), ids=NOT_AS_SAID)
def test_a_sound_that_is_not_as_its_block_says_is_refused(
    caller: Caller, block: dict[str, Any], message: str
) -> None:
    param, said = refusal(caller, block)

    assert param == "input_audio.data"
    assert message in said


def test_sounds_that_are_short_enough_go_as_they_are(caller: Caller) -> None:
    given = [sound(wav(HOUR_S), "wav"), sound(mp3(HOUR_S), "mp3"), sound(SAMPLES, "pcm16")]

    assert sent(caller, *given) == given


def test_pictures_of_other_formats_are_named(caller: Caller) -> None:
    names = {}
    for content in (BMP, b"II*\0" + bytes(40), b"\0\0\0\x18ftypheic" + bytes(40)):
        param, said = refusal(caller, image(f"data:image/png;base64,{b64(content)}"))
        assert param == "image_url.url"
        names[said.partition(".")[0]] = True

    assert list(names) == ["The image is a BMP", "The image is a TIFF", "The image is a HEIC"]


@pytest.fixture(scope="module")
def particular(site: Site) -> dict[str, Caller]:
    """A caller of a model of each kind that does not take every format."""
    callers = {}
    for kind in ("openai", "xai", "google_ai_studio_gemini"):
        path = "gemini/v1beta" if kind.startswith("google") else "v1"
        address = f"{site.upstream.origin}/{path}"
        name = f"sounds-{kind}"
        site.office.do("provider", name=name, kind=kind, base_url=address, credential="sk-x")
        site.add_model(name, provider=name, native_model="gemini-2.5-flash", supports_audio=True)
        callers[kind] = site.caller().with_(model=name)
    return callers


def test_samples_become_a_file_where_only_files_are_taken(particular: dict[str, Caller]) -> None:
    content = [sound(SAMPLES, "pcm16"), {"type": "text", "text": "script:echo"}]
    message = {"role": "user", "content": content}

    openai = particular["openai"].ask(messages=[message]).echo["body_text"]
    gemini = particular["google_ai_studio_gemini"].ask(messages=[message]).echo["body_text"]

    given = json.loads(openai)["messages"][0]["content"][0]["input_audio"]
    assert given["format"] == "wav"
    blob = json.loads(gemini)["contents"][0]["parts"][0]["inlineData"]
    assert blob == {"mimeType": "audio/wav", "data": given["data"]}
    with wave.open(io.BytesIO(base64.b64decode(given["data"]))) as file:
        assert (file.getframerate(), file.getnchannels()) == (24_000, 1)
        assert file.readframes(100) == SAMPLES


def test_what_a_provider_does_not_take_is_refused_before_it_is_asked(
    particular: dict[str, Caller],
) -> None:
    gif = image(f"data:image/gif;base64,{b64(PICTURES['image/gif'])}")

    for kind, block, message in (
        ("openai", sound(WEBM, "webm"), "The audio must be MP3 or WAV for this model."),
        ("xai", gif, "The image must be JPEG or PNG for this model."),
        ("google_ai_studio_gemini", sound(WEBM, "webm"), "must be WAV or MP3 for this model."),
    ):
        param, said = refusal(particular[kind], block)
        assert param.startswith(("input_audio", "image_url", "messages"))
        assert message in said


def test_recordings_are_checked_by_their_bytes(site: Site, caller: Caller) -> None:
    simulated = caller.with_(model="tollhouse/simulated")
    too_long = {"a.flac": flac, "a.ogg": opus, "a.m4a": mp4, "a.mp3": mp3, "a.wav": wav}

    for name, make in too_long.items():
        answer = ask_audio(simulated, "transcriptions", content=make(5 * HOUR_S))
        assert (answer.status, answer.error["code"]) == (400, "invalid_file"), name
        assert (answer.error["param"], "lasts 18000 s" in answer.error["message"]) == ("file", True)
        assert ask_audio(simulated, "transcriptions", content=make(2)).status == 200, name
    for content in (PDF, PICTURES["image/png"]):
        answer = ask_audio(simulated, "transcriptions", content=content)
        assert (answer.status, answer.error["code"]) == (400, "invalid_file")
        assert "not audio" in answer.error["message"]
