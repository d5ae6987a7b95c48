"""Forms with files in them, multipart/form-data (RFC 7578), as bytes.

Read strictly: nothing before the first part or behind the last, and no part whose name two readers
could read in two ways. One pass over the body, whatever it is (CVE-2024-8984).
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

import msgspec

from gateway.core.errors import RequestError
from gateway.core.json_types import JsonValue

MAX_PARTS = 200
MAX_HEAD_BYTES = 8 * 1024
CRLF = b"\r\n"
_BOUNDARY = re.compile(rb"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]")
# A parameter of a header; the value in quotes or bare.
_PARAMETER = re.compile(r';\s*([A-Za-z*-]+)=(?:"((?:[^"\\]|\\.)*)"|([^;"\s]*))\s*')
_ESCAPED = re.compile(r'\\(["\\])')
# A name in a charset of its own (RFC 8187): charset, language and percent-encoded text. Forms must
# not have it (RFC 7578), but older requests, aiohttp and .NET send it.
_EXTENDED = re.compile(
    r"([A-Za-z0-9-]+)'[A-Za-z0-9-]*'((?:%[0-9A-Fa-f]{2}|[\w!#$&+.^`|~-])*)", re.A
)
_CHARSETS = ("utf-8", "iso-8859-1")
# As browsers and SDKs write what may not stand in a name.
_PERCENT = (("%22", '"'), ("%0D", "\r"), ("%0A", "\n"))


class FormPart(msgspec.Struct, frozen=True):
    """One field or file of a form. filename: None for a field. content_type: empty where none is
    said."""

    name: str
    content: bytes
    filename: str | None = None
    content_type: str = ""


def read_boundary(content_type: bytes) -> bytes:
    """Return the boundary that a Content-Type names. Raises RequestError."""
    _, separator, rest = content_type.decode("latin-1").partition(";")
    found = _read_parameters(separator + rest)
    boundary = b"" if found is None else found.get("boundary", "").encode("latin-1")
    if _BOUNDARY.fullmatch(boundary) is None:
        raise no_boundary()
    return boundary


def no_boundary() -> RequestError:
    return RequestError(
        "The Content-Type must be multipart/form-data with a boundary of 1 to 70 characters.",
        param="Content-Type",
    )


def read_form(body: bytes, boundary: bytes) -> list[FormPart]:
    """Return the parts of a form. Raises RequestError."""
    delimiter = b"--" + boundary
    parts: list[FormPart] = []
    if not body.startswith(delimiter):
        raise malformed("it does not begin with its boundary")
    position = len(delimiter)
    while body[position : position + 2] != b"--":
        if len(parts) == MAX_PARTS:
            raise RequestError(f"The form has more than {MAX_PARTS} parts.")
        head = position + len(CRLF)
        head_end = body.find(CRLF + CRLF, head, head + MAX_HEAD_BYTES)
        if body[position:head] != CRLF or head_end < 0:
            raise malformed("a part has no header, or one that is too long")
        end = body.find(CRLF + delimiter, head_end + 4)
        if end < 0:
            raise malformed("it ends within a part")
        parts.append(read_part(body[head:head_end], body[head_end + 4 : end]))
        position = end + 2 + len(delimiter)
    if body[position + 2 :] not in (b"", CRLF):
        raise malformed("something follows its end")
    return parts


def read_part(head: bytes, content: bytes) -> FormPart:
    """Return the part that a head and a content are. Raises RequestError."""
    headers: dict[str, str] = {}
    try:
        lines = head.decode().split("\r\n")
    except UnicodeDecodeError:
        raise malformed("the header of a part is not UTF-8") from None
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or name.strip().lower() in headers:
            raise malformed("the header of a part cannot be read")
        headers[name.strip().lower()] = value.strip()
    kind, separator, rest = headers.get("content-disposition", "").partition(";")
    parameters = _read_parameters(separator + rest)
    if kind.strip().lower() != "form-data" or parameters is None or not parameters.get("name"):
        raise malformed("a part has no name")
    if headers.get("content-transfer-encoding", "binary").lower() not in ("7bit", "8bit", "binary"):
        raise malformed("a part is encoded")
    return FormPart(
        parameters["name"],
        content,
        _filename_of(parameters),
        headers.get("content-type", ""),
    )


def _filename_of(parameters: dict[str, str]) -> str | None:
    """Return the filename; of two, the one in a charset of its own (RFC 6266, 4.3)."""
    written = parameters.get("filename*")
    if written is None:
        return parameters.get("filename")
    found = _EXTENDED.fullmatch(written)
    if found is None:
        raise malformed("filename* must be a charset, two single quotes and percent-encoded text")
    charset = found[1].lower()
    if charset not in _CHARSETS:
        raise malformed("the charset of filename* must be UTF-8 or ISO-8859-1")
    try:
        return unquote(found[2], charset, "strict")
    except UnicodeDecodeError:
        raise malformed(f"filename* is not {found[1]}") from None


def _read_parameters(text: str) -> dict[str, str] | None:
    """Return the parameters of a header behind its value; None where they cannot be read."""
    found: dict[str, str] = {}
    position = 0
    while position < len(text):
        match = _PARAMETER.match(text, position)
        if match is None or match[1].lower() in found:
            return None
        quoted, bare = match[2], match[3]
        value = bare if quoted is None else _ESCAPED.sub(r"\1", quoted)
        if not match[1].endswith("*"):
            for written, meant in _PERCENT:
                value = value.replace(written, meant)
        found[match[1].lower()] = value
        position = match.end()
    return found


def malformed(reason: str) -> RequestError:
    return RequestError(f"The form cannot be read: {reason}.")


def write_form(parts: Iterable[FormPart]) -> tuple[str, bytes]:
    """Return the Content-Type and the body of a form."""
    boundary = f"form-{secrets.token_hex(16)}"
    pieces: list[bytes] = []
    for part in parts:
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{_quote(part.name)}"'
        if part.filename is not None:
            head += f'; filename="{_quote(part.filename)}"'
        if part.content_type:
            head += f"\r\nContent-Type: {part.content_type}"
        pieces += (head.encode(), CRLF + CRLF, part.content, CRLF)
    pieces.append(f"--{boundary}--\r\n".encode())
    return f"multipart/form-data; boundary={boundary}", b"".join(pieces)


def _quote(text: str) -> str:
    text = text.replace("\\", "\\\\")
    for written, meant in _PERCENT:
        text = text.replace(meant, written)
    return text


def write_fields(name: str, value: JsonValue, of_list: str = "[]") -> Sequence[FormPart]:
    """Return the fields that a member of a request is in a form, as OpenAI's SDKs write them.
    of_list: what comes behind the name of each item of a list."""
    if isinstance(value, list):
        return [FormPart(f"{name}{of_list}", _write(one)) for one in value]
    if isinstance(value, dict):
        return [FormPart(f"{name}[{key}]", _write(one)) for key, one in value.items()]
    return [] if value is None else [FormPart(name, _write(value))]


def _write(value: JsonValue) -> bytes:
    return value.encode() if isinstance(value, str) else msgspec.json.encode(value)
