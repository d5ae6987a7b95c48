"""Uploads that are refused, and names that are shown otherwise than they came."""

from __future__ import annotations

import pytest

from tests.flows.caller import Caller
from tests.flows.stored_files.asking import (
    END,
    HEAD,
    KIND,
    PDF,
    PNG,
    PURPOSE,
    form_of,
    get,
    send_form,
    upload,
)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../x", "x"),
        ("/etc/passwd", "passwd"),
        ("..\\x", "x"),
        ("a\0b.txt", "ab.txt"),
        ("long" * 500, ("long" * 500)[:255]),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("two\nlines.txt", "twolines.txt"),
        ("CON", "_CON"),
        (".profile", "profile"),
        ("\N{GRINNING FACE}.txt", "\N{GRINNING FACE}.txt"),
        ("<script>alert(1)<script>.txt", "<script>alert(1)<script>.txt"),
        ("...", "file"),
    ],
)
def test_names_are_shown_without_what_is_no_name(caller: Caller, name: str, shown: str) -> None:
    answer = upload(caller, b"text", filename=name)

    assert answer.status == 200, answer.body
    assert answer.json["filename"] == shown
    content = get(caller, f"/{answer.json['id']}/content")
    assert content.body == b"text"
    assert content.headers["content-disposition"].isascii()


@pytest.mark.parametrize(
    ("disposition", "shown"),
    [
        ("filename*=UTF-8''%C3%BCber%20%E2%82%AC.txt", "über €.txt"),
        ("filename*=utf-8'de'a.txt", "a.txt"),
        ("filename*=ISO-8859-1''%FC.txt", "ü.txt"),
        ("filename=\"=?utf-8?B?w7w=?=\"; filename*=utf-8''%C3%BC.txt", "ü.txt"),
        ("filename*=utf-8''%C3%BC.txt; filename=u.txt", "ü.txt"),
        ("filename*=utf-8''..%2F..%2Fa%0D%0Ab.txt", "ab.txt"),
    ],
)
def test_names_can_have_a_charset_of_their_own(
    caller: Caller, disposition: str, shown: str
) -> None:
    head = HEAD.replace(b'filename="a.txt"', disposition.encode())

    answer = send_form(caller, PURPOSE + head + b"some text" + END)

    assert answer.status == 200, answer.body
    assert answer.json["filename"] == shown


@pytest.mark.parametrize(
    ("disposition", "said"),
    [
        ("filename*=a.txt", "percent-encoded text"),
        ("filename*=utf-8''%zz", "percent-encoded text"),
        ("filename=\"a.txt\"; filename*=utf-8''%C", "percent-encoded text"),
        ("filename*=utf-16''a.txt", "UTF-8 or ISO-8859-1"),
        ("filename*=utf-8''%FF%ED%A0%80.txt", "is not utf-8"),
        ("filename*=utf-8''", "with a filename"),
        ("filename*=utf-8''a%22b.txt", "double quote"),
        ("filename*=utf-8''a; filename*=utf-8''b", "no name"),
    ],
)
def test_a_broken_name_is_refused(caller: Caller, disposition: str, said: str) -> None:
    head = HEAD.replace(b'filename="a.txt"', disposition.encode())

    answer = send_form(caller, PURPOSE + head + b"some text" + END)

    assert (answer.status, answer.error["code"]) == (400, "invalid_request")
    assert said in answer.error["message"]


def test_forms_that_can_be_read_in_two_ways_are_refused(caller: Caller) -> None:
    text = b"some text"
    forms = {
        "no boundary": (b"", b"multipart/form-data"),
        "a boundary of 71 characters": (b"", b"multipart/form-data; boundary=" + b"x" * 71),
        "no form": (b"{}", b"application/json"),
        "a boundary that never comes": (b"x" * 100_000, KIND),
        "a preamble": (b"hello\r\n" + PURPOSE + HEAD + text + END, KIND),
        "an epilogue": (PURPOSE + HEAD + text + END + b"x" * 100_000, KIND),
        "an end within a part": (PURPOSE + HEAD + text, KIND),
        "two files": (PURPOSE + HEAD + text + b"\r\n" + HEAD + text + END, KIND),
        "a purpose twice": (PURPOSE + PURPOSE + HEAD + text + END, KIND),
        "no purpose": (HEAD + text + END, KIND),
        "no file": (PURPOSE.removesuffix(b"\r\n") + END, KIND),
        "an empty file": (PURPOSE + HEAD + END, KIND),
        "a part without a name": (
            PURPOSE + HEAD.replace(b' name="file";', b"") + text + END,
            KIND,
        ),
        "two file names": (
            PURPOSE + HEAD.replace(b'"a.txt"', b'"a"; filename="b"') + text + END,
            KIND,
        ),
        "a name with a double quote": (
            PURPOSE + HEAD.replace(b"a.txt", b'a\\"; filename=\\"b') + text + END,
            KIND,
        ),
        "an encoding": (
            PURPOSE
            + HEAD.replace(b"\r\n\r\n", b"\r\ncontent-transfer-encoding: base64\r\n\r\n")
            + b" " * 100_000
            + END,
            KIND,
        ),
        "an unknown field": (PURPOSE.replace(b"purpose", b"purposes") + HEAD + text + END, KIND),
    }
    for what, (body, kind) in forms.items():
        answer = send_form(caller, body, kind)
        assert answer.status == 400, (what, answer.body)
        assert answer.error["code"] == "invalid_request" or what == "an empty file", what
    assert get(caller).json["data"] == []
    assert get(caller).headers["x-storage-used-bytes"] == "0"


def test_what_a_file_is_its_bytes_say(caller: Caller) -> None:
    lies = upload(caller, PNG, filename="a.pdf")
    polyglot = upload(caller, PDF + b"PK\x03\x04<html>", filename="a.pdf")
    archive = upload(caller, b"PK\x03\x04" + b"\0" * 100, filename="a.zip")
    picture = upload(caller, PDF, purpose="vision")
    virus = upload(caller, b"X5O!P%@AP[4\\PZX54(P^)7CC)7}$EICAR", filename="a.txt")

    assert (lies.status, lies.error["code"]) == (400, "invalid_file")
    assert (polyglot.status, polyglot.json["content_type"]) == (200, "application/pdf")
    assert (archive.status, archive.error["code"]) == (415, "unsupported_media_type")
    assert picture.error["param"] == "purpose"
    assert virus.status == 200


@pytest.mark.parametrize("filename", ["table.csv", "notes", "notes.mp3"])
def test_text_in_utf_16_is_not_taken_for_a_sound(caller: Caller, filename: str) -> None:
    answer = upload(caller, "Größe;Preis".encode("utf-16"), filename=filename)

    assert (answer.status, answer.error["code"]) == (415, "unsupported_media_type")
    assert "text in UTF-8" in answer.error["message"]


@pytest.mark.parametrize("seconds", ["-1", "0", "3599", "1000000000000", "soon", ""])
def test_expiry_is_between_an_hour_and_30_days(caller: Caller, seconds: str) -> None:
    answer = upload(caller, fields={"expires_after[seconds]": seconds})

    assert answer.status == 400
    assert answer.error["param"] == "expires_after[seconds]"


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        (b'{"a": 1}\n{"b": \n{"c": 3}', "line 2 is not a JSON object"),
        (b'{"a": 1}\n[1]\n', "line 2 is not a JSON object"),
        (b'\xef\xbb\xbf{"a": 1}\n', "line 1 begins with a byte order mark"),
        (b'{"a": 1}\n{"a": "\xff"}\n', "line 2 is not UTF-8"),
        (b'{"a": 1}\n\n{"a": 1}\n', "line 2 is not a JSON object"),
        (b"{}\n" * 50_001, "line 50001 is one too many"),
    ],
)
def test_a_batch_names_the_line_at_fault(caller: Caller, lines: bytes, fault: str) -> None:
    kind, body = form_of(lines, filename="a.jsonl", purpose="batch")
    answer = send_form(caller, body, kind.encode())

    assert answer.status == 400, answer.body
    assert fault in answer.error["message"]


def test_the_purpose_may_come_behind_the_file(caller: Caller) -> None:
    good = HEAD.replace(b"a.txt", b"a.jsonl") + b'{"a": 1}\r\n{"b": 2}' + b"\r\n"
    batch = PURPOSE.replace(b"user_data", b"batch").removesuffix(b"\r\n") + END

    fits = send_form(caller, good + batch)
    broken = send_form(caller, good.replace(b'{"b": 2}', b"no") + batch)

    assert (fits.status, fits.json["content_type"]) == (200, "application/jsonl")
    assert "line 2" in broken.error["message"]
