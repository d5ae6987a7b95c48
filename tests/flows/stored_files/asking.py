"""Requests about stored files, over plain sockets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.core.forms import FormPart, write_form
from tests.flows.caller import Answer, Caller
from tests.support.pdf import write_pdf

PDF = write_pdf("Hello")
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 30
FILES = "/v1/files"
SCOPES = ["completions", "files"]


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
