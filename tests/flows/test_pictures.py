"""What is inline in a call: bytes decide what it is, and the provider is told the truth."""

from __future__ import annotations

import base64
import json
import struct
import textwrap
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.site import INPUT_NUSD, OUTPUT_NUSD, Site
from tests.support.file_server import serving_files

PICTURES = {
    "image/png": b"\x89PNG\r\n\x1a\n" + b"\0" * 90,
    "image/jpeg": b"\xff\xd8\xff\xe0" + b"\0" * 90,
    "image/gif": b"GIF89a" + b"\0" * 90,
    "image/webp": b"RIFF\x24\0\0\0WEBPVP8 " + b"\0" * 90,
}
BMP = b"BM\x46\0\0\0" + b"\0" * 90
HUGE = PICTURES["image/png"][:16] + struct.pack(">II", 60_000, 60_000) + b"\0" * 90
PDF = b"%PDF-1.7\n1 0 obj\n" + b"\0" * 90
WAV = b"RIFF\x24\0\0\0WAVEfmt " + b"\0" * 90


def b64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def in_lines(content: bytes) -> str:
    """Return base64 as e-mail programs and `base64` write it, and then some."""
    return " " + "\r\n".join(textwrap.wrap(b64(content), 20)) + "\t\n"


def image(url: str, **members: Any) -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url, **members}}


def sent(caller: Caller, *blocks: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the blocks that reached the provider."""
    content = [*blocks, {"type": "text", "text": "script:echo"}]
    answer = caller.ask(messages=[{"role": "user", "content": content}])
    assert answer.status == 200, answer.body
    body = json.loads(answer.echo["body_text"])
    arrived: list[dict[str, Any]] = body["messages"][0]["content"]
    return arrived[:-1]


def ask(caller: Caller, block: dict[str, Any]) -> Answer:
    return caller.ask(messages=[{"role": "user", "content": [block]}])


@pytest.mark.parametrize(
    "label", [*PICTURES, "image/jpg", "IMAGE/PNG", "text/html", "nonsense", ""]
)
def test_the_bytes_of_a_picture_decide_its_type(caller: Caller, label: str) -> None:
    given = [image(f"data:{label};base64,{b64(bytes_)}") for bytes_ in PICTURES.values()]

    arrived = sent(caller, *given)

    told = [image(f"data:{kind};base64,{b64(bytes_)}") for kind, bytes_ in PICTURES.items()]
    assert arrived == told


def test_a_picture_that_is_written_anew_keeps_what_was_said_beside_it(caller: Caller) -> None:
    url = f"data:image/gif;base64,{b64(PICTURES['image/png'])}"
    given = image(url, detail="low", format="x") | {"cache_control": {"type": "ephemeral"}}

    [arrived] = sent(caller, given)

    expected = f"data:image/png;base64,{b64(PICTURES['image/png'])}"
    assert arrived == given | {"image_url": given["image_url"] | {"url": expected}}


def test_a_picture_with_its_own_label_is_not_touched(caller: Caller) -> None:
    picture = b64(PICTURES["image/png"]).encode()
    block = b'{"type" : "image_url", "image_url":{"url":"data:image/png;base64,%b"}}' % picture
    text = b'{"type":"text","text":"script:echo"}'
    message = b'{"role":"user","content":[%b,%b]}' % (block, text)

    answer = caller.ask(raw=b'{"model":"fake-model","messages":[%b]}' % message)

    assert block.decode() in answer.echo["body_text"]


def test_line_breaks_in_base64_do_not_matter(caller: Caller) -> None:
    picture, audio = PICTURES["image/webp"], {"format": "wav"}
    in_url = f"data:audio/wav;base64,{in_lines(WAV)}"
    given = [
        image(f"data:image/webp;base64,{in_lines(picture)}"),
        {"type": "file", "file": {"filename": "a.png", "file_data": in_lines(picture)}},
        {"type": "input_audio", "input_audio": audio | {"data": in_lines(WAV)}},
        {"type": "input_audio", "input_audio": audio | {"data": in_url}},
    ]

    first, second, third, fourth = sent(caller, *given)

    url = f"data:image/webp;base64,{b64(picture)}"
    assert first == image(url)
    assert second == {"type": "file", "file": {"filename": "a.png", "file_data": url}}
    assert third == fourth == {"type": "input_audio", "input_audio": audio | {"data": b64(WAV)}}


BROKEN = {
    "another format": image(f"data:image/bmp;base64,{b64(BMP)}"),
    "a document": image(f"data:image/png;base64,{b64(PDF)}"),
    "a text": image(f"data:image/png;base64,{b64(b'hello')}"),
    "nothing": image("data:image/png;base64, \n"),
    "no base64": image(f"data:image/png;base64,{b64(PICTURES['image/png'])[:-2]}"),
    "padding in its middle": image(f"data:image/png;base64,QQ=={b64(PICTURES['image/png'])}"),
    "too many pixels": image(f"data:image/png;base64,{b64(HUGE)}"),
    "too many pixels under another label": image(f"data:image/gif;base64,{in_lines(HUGE)}"),
    "too many pixels in a file": {"type": "file", "data": b64(HUGE), "mime_type": "image/png"},
    "a file of no type": {"type": "file", "data": b64(BMP), "filename": "a.bmp"},
    "a text said to be a PDF": {"type": "file", "data": b64(b"hello"), "filename": "a.pdf"},
}


@pytest.mark.parametrize("block", BROKEN.values(), ids=BROKEN)
def test_what_is_no_picture_or_file_is_refused(
    site: Site, caller: Caller, block: dict[str, Any]
) -> None:
    answer = ask(caller, block)

    assert (answer.status, answer.error["code"]) == (400, "invalid_file"), answer.body
    assert answer.error["param"].startswith("messages[0].content[0].")
    assert site.tries(answer.call_id) == []


def test_a_huge_picture_at_an_address_is_refused_too(files_site: Site) -> None:
    caller = files_site.caller().with_(model="all-seeing")
    with serving_files(lambda path: (200, {}, HUGE)) as server:
        answer = ask(caller, {"type": "file", "file_url": server.url("/a.png")})

    assert (answer.status, answer.error["code"]) == (400, "invalid_file"), answer.body
    assert "million pixels" in answer.error["message"]


# As it is declared, its name, and what the provider is told.
TEXTS = [
    ("", "", "text/plain"),
    ("application/octet-stream", "notes", "text/plain"),
    ("application/x-yaml", "a.yaml", "text/plain"),
    ("application/csv", "a.csv", "text/csv"),
    ("nonsense", "a.md", "text/markdown"),
    ("text/x-python", "a.py", "text/x-python"),
    ("text/plain; charset=utf-8", "a", "text/plain"),
    ("application/json", "a", "application/json"),
]


def test_texts_of_odd_types_are_texts(caller: Caller) -> None:
    data = b64("naïve ≠ naive\n".encode())
    given: list[dict[str, Any]] = [
        {"type": "file", "data": data, "mime_type": declared, "filename": name}
        for declared, name, _ in TEXTS
    ]
    labelled = f"data:application/x-sh;base64,{data}"
    given.append({"type": "file", "file": {"filename": "run", "file_data": labelled}})

    arrived = sent(caller, *given)

    told = [block["file"]["file_data"] for block in arrived]
    kinds = [*(kind for _, _, kind in TEXTS), "text/plain"]
    assert told == [f"data:{kind};base64,{data}" for kind in kinds]


def test_a_text_counts_by_its_bytes(site: Site, caller: Caller) -> None:
    short = {"type": "file", "data": b64(b"hello"), "filename": "a.txt"}
    long = {"type": "file", "data": b64(b"5 " * 50_000), "filename": "b.txt"}
    answers = [
        caller.ask(
            messages=[{"role": "user", "content": [block, {"type": "text", "text": "Well?"}]}],
            max_tokens=1,
        )
        for block in (short, long)
    ]

    holds = [site.record(answer.call_id)["hold_nusd"] for answer in answers]
    assert OUTPUT_NUSD < holds[0] < 100 * INPUT_NUSD
    assert holds[1] > 50_000 * INPUT_NUSD


def test_a_long_body_is_read_as_a_short_one_is(caller: Caller) -> None:
    picture = PICTURES["image/png"] + b"\0" * 500_000

    [arrived] = sent(caller, image(f"data:image/jpeg;base64,{in_lines(picture[:300_000])}"))
    refused = ask(caller, image(f"data:image/png;base64,{b64(picture)[:-1]}"))

    assert arrived == image(f"data:image/png;base64,{b64(picture[:300_000])}")
    assert (refused.status, refused.error["code"]) == (400, "invalid_file")
