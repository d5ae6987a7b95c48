"""Recordings that do not arrive whole, and what is kept of those that do."""

from __future__ import annotations

import json
import socket
from hashlib import sha256

import pytest

from tests.flows.audio.asking import RECORDING, ask, ask_scripted, request_of
from tests.flows.caller import RESET_ON_CLOSE, Caller
from tests.flows.site import NUSD_PER_USD, Site
from tests.support.waiting import wait_until


@pytest.mark.parametrize("ending", ["left", "reset"])
def test_a_caller_who_leaves_within_an_upload_pays_nothing(
    site: Site, caller: Caller, ending: str
) -> None:
    request = request_of(caller, "transcriptions", content=RECORDING * 10)
    body = request["raw"]
    headers = request["headers"] | {
        "host": "gateway",
        "authorization": f"Bearer {caller.secret}",
        "content-length": str(len(body)),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    before = len(site.upstream.book())

    with socket.create_connection(("127.0.0.1", caller.port)) as connection:
        connection.sendall(f"POST {request['path']} HTTP/1.1\r\n{head}\r\n".encode())
        connection.sendall(body[: len(body) // 2])
        if ending == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)

    assert ask(caller.with_(model="tollhouse/simulated"), "transcriptions").status == 200
    assert len(site.upstream.book()) == before
    assert site.balance_nusd(caller) == NUSD_PER_USD


def test_a_recording_above_the_limit_is_refused(caller: Caller) -> None:
    answer = ask(caller, "transcriptions", content=bytes(2 * 1024 * 1024))

    assert (answer.status, answer.error["code"]) == (413, "payload_too_large")


@pytest.mark.parametrize(
    ("filename", "status", "said"),
    [
        ("utf-8''%C3%BC%20b.mp3", 200, "ü b.mp3"),
        ("iso-8859-1''%FC.mp3", 200, "ü.mp3"),
        ("utf-8''%FC.mp3", 400, "filename* is not utf-8"),
    ],
)
def test_a_filename_can_have_a_charset_of_its_own(
    caller: Caller, filename: str, status: int, said: str
) -> None:
    request = request_of(caller.with_(model="tollhouse/simulated"), "transcriptions")
    written = f"filename*={filename}".encode()
    request["raw"] = request["raw"].replace(b'filename="a.mp3"', written)

    answer = caller.ask(**request)

    assert answer.status == status
    assert said in answer.body.decode()


def stored(site: Site, call_id: str) -> dict[str, str]:
    found = wait_until(lambda: site.office.do("body", call_id=call_id), what="a stored body")
    assert isinstance(found, dict)
    return found


def test_what_is_stored_of_a_form_names_the_file_alone(site: Site, caller: Caller) -> None:
    site.office.do("store_bodies", workspace_id=caller.workspace_id)

    def found() -> dict[str, str] | None:
        answer = ask_scripted(caller, "transcriptions", "text=one two", language="en")
        site.record(answer.call_id)
        return site.office.do("body", call_id=answer.call_id) or None

    body = wait_until(found, what="a stored body")

    assert body is not None
    request = json.loads(body["request"])
    assert request["file"] == {
        "filename": "a.mp3",
        "content_type": "audio/mpeg",
        "bytes": len(RECORDING),
        "sha256": sha256(RECORDING).hexdigest(),
    }
    assert (request["language"], json.loads(body["response"])["text"]) == ("en", "one two")

    subtitles = ask_scripted(caller, "transcriptions", "text=one", response_format="srt")
    assert "--> 00:00:00,500" in stored(site, subtitles.call_id)["response"]

    speech = ask(caller, "speech", input="Hello there")
    body = stored(site, speech.call_id)
    assert json.loads(body["request"])["input"] == "Hello there"
    assert body["response"] == "[audio/mpeg]"
