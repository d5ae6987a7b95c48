"""Requests about stored files, over plain sockets."""

from __future__ import annotations

import hashlib
import json
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing
from http.client import HTTPConnection, HTTPResponse
from typing import Any

from gateway.core.forms import FormPart, write_form
from tests.flows.caller import READ_S, Answer, Caller
from tests.support.pdf import write_pdf

PDF = write_pdf("Hello")
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 30
FILES = "/v1/files"
PIECE_BYTES = 1024 * 1024
SCOPES = ["completions", "files"]
# A form in pieces: the boundary is b.
KIND = b"multipart/form-data; boundary=b"
PURPOSE = b'--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n'
HEAD = b'--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
END = b"\r\n--b--\r\n"


def form_of(
    content: bytes,
    *,
    filename: str,
    purpose: str | None,
    content_type: str = "",
    fields: Mapping[str, str] | None = None,
) -> tuple[str, bytes]:
    """Return Content-Type and body of an upload."""
    parts = [] if purpose is None else [FormPart("purpose", purpose.encode())]
    parts += [FormPart(name, value.encode()) for name, value in (fields or {}).items()]
    parts.append(FormPart("file", content, filename, content_type))
    return write_form(parts)


def send_form(
    caller: Caller, body: bytes, kind: bytes = KIND, *, most_bytes: int | None = None
) -> Answer:
    """Send an upload, whatever its Content-Type and body are, then read the answer. most_bytes: of
    the body, and no more; None for all of it."""
    head = (
        f"POST {FILES} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {caller.secret}\r\n"
        f"content-length: {len(body)}\r\nconnection: close\r\n"
    )
    with socket.create_connection(("127.0.0.1", caller.port), timeout=READ_S) as link:
        link.sendall(b"%bcontent-type: %b\r\n\r\n" % (head.encode(), kind))
        link.sendall(memoryview(body)[:most_bytes])
        with closing(HTTPResponse(link, method="POST")) as response:
            response.begin()
            headers = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, headers, response.read())


def upload(
    caller: Caller,
    content: bytes = PDF,
    *,
    filename: str = "a.pdf",
    purpose: str | None = "user_data",
    headers: Mapping[str, str] | None = None,
    path: str = FILES,
    fields: Mapping[str, str] | None = None,
) -> Answer:
    """Upload a file and return the answer."""
    kind, body = form_of(content, filename=filename, purpose=purpose, fields=fields)
    return caller.ask(raw=body, path=path, headers={"content-type": kind, **(headers or {})})


def uploaded(caller: Caller, content: bytes = PDF, **options: Any) -> str:
    """Upload a file and return its ID."""
    answer = upload(caller, content, **options)
    assert answer.status == 200, answer.body
    return str(answer.json["id"])


def get(caller: Caller, path: str = "") -> Answer:
    return caller.ask(path=f"{FILES}{path}", method="GET", raw=b"", headers={"content-type": ""})


def delete(caller: Caller, file_id: str) -> Answer:
    return caller.ask(
        path=f"{FILES}/{file_id}", method="DELETE", raw=b"", headers={"content-type": ""}
    )


def upload_long(caller: Caller, size_bytes: int) -> tuple[dict[str, Any], str]:
    """Upload a text without ever having it whole; return the file and the SHA-256 of the text."""
    kind, body = form_of(b"", filename="long.txt", purpose="user_data")
    digest, tail = hashlib.sha256(), body[body.rindex(b"\r\n--") :]

    def pieces() -> Iterator[bytes]:
        yield body.removesuffix(tail)
        for number in range(size_bytes // PIECE_BYTES):
            piece = b"%020d\n" % number * (PIECE_BYTES // 21) + b"." * (PIECE_BYTES % 21)
            digest.update(piece)
            yield piece
        yield tail

    connection = HTTPConnection("127.0.0.1", caller.port, timeout=120)
    headers = {"content-type": kind, "authorization": f"Bearer {caller.secret}"}
    headers["content-length"] = str(len(body) + size_bytes)
    connection.request("POST", FILES, body=pieces(), headers=headers)
    answer = connection.getresponse()
    said: dict[str, Any] = json.loads(answer.read())
    connection.close()
    assert answer.status == 200, said
    return said, digest.hexdigest()


def read_long(caller: Caller, file_id: str) -> str:
    """Return the SHA-256 of a file's content, without ever having it whole."""
    digest = hashlib.sha256()
    connection = HTTPConnection("127.0.0.1", caller.port, timeout=120)
    headers = {"authorization": f"Bearer {caller.secret}"}
    connection.request("GET", f"{FILES}/{file_id}/content", headers=headers)
    answer = connection.getresponse()
    while piece := answer.read(PIECE_BYTES):
        digest.update(piece)
    connection.close()
    return digest.hexdigest()
