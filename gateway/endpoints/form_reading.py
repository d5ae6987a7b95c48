"""Requests that are forms: their fields as the members of a JSON object, which is read like any
other, and their file.

What stands for the file in the object says which file it was: the object is what is stored, and
what the request of an idempotency key is known by, since the bytes of a form differ each time.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import NamedTuple

import msgspec
from msgspec import Struct

from gateway.core.audio import Recording
from gateway.core.call_credentials import MEMBER, CallCredentials, read_credentials
from gateway.core.errors import InvalidFile, RequestError
from gateway.core.forms import FormPart, read_boundary, read_form
from gateway.core.json_types import JsonObject, JsonValue
from gateway.core.request import RequestHead
from gateway.media.media_types import find_other_type
from gateway.media.sounds import ENDINGS, check_length, read_length_ms, sniff_sound

FILE = "file"
MAX_TYPE_CHARS = 100
UNKNOWN_TYPE = "application/octet-stream"
_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+-]+(?:\s*;\s*[\w.+-]+=[\w.+-]+)*")
# A member of an object in a field of its own, as SDKs write them.
_MEMBER = re.compile(r"([^\[\]]+)\[([^\[\]]+)\]")


class UploadedFile(Struct, kw_only=True):
    """What stands for a file in the request."""

    filename: str
    content_type: str = ""
    bytes: int
    sha256: str = ""


class FormRules(NamedTuple):
    """Of which type members are that are no text."""

    lists: frozenset[str]
    # Numbers, booleans, and objects, which may also be text.
    json: frozenset[str]


class ReadForm(NamedTuple):
    """The members as JSON, the file and the credentials that were among them."""

    body: bytes
    content: bytes
    credentials: CallCredentials | None


def read_request(body: bytes, head: RequestHead, rules: FormRules) -> ReadForm:
    """Return a form's members and its file. Raises RequestError.

    Without a Content-Type it is the question what would become of such a request
    (gateway.explain): its members are JSON already, and the file is not there.
    """
    content_type = head.first(b"content-type")
    if not content_type:
        return ReadForm(body, b"", None)
    members: JsonObject = {}
    content, credentials = b"", None
    for part in read_form(body, read_boundary(content_type)):
        if part.filename is not None or part.name == FILE:
            members[FILE] = _describe(part, members)
            content = part.content
        elif part.name == MEMBER:
            credentials = read_credentials(part.content)
        else:
            _add(members, part, rules)
    return ReadForm(msgspec.json.encode(members), content, credentials)


def recording_of(file: UploadedFile, content: bytes, most_s: int) -> Recording:
    """Return the recording, with a type and an ending where it came without, because providers go
    by them. Raises InvalidFile for what is another kind of file, or lasts too long."""
    if found := find_other_type(content):
        raise InvalidFile(f"The file is {found}, not audio.", param=FILE)
    check_length(read_length_ms(content) or 0, most_s, FILE)
    filename, content_type = file.filename, file.content_type
    if sound := sniff_sound(content):
        if "." not in filename:
            filename = f"{filename}.{ENDINGS[sound]}"
        if content_type == UNKNOWN_TYPE:
            content_type = sound
    return Recording(
        filename=filename,
        content_type=content_type,
        content=content,
        size_bytes=file.bytes,
    )


def _describe(part: FormPart, members: JsonObject) -> JsonObject:
    if part.name != FILE:
        raise RequestError(f"The file must be the field {FILE}.", param=part.name[:80])
    if FILE in members:
        raise RequestError("The form has more than one file.", param=FILE)
    if not part.filename:
        raise RequestError(f"The field {FILE} must be a file with a filename.", param=FILE)
    if not part.content:
        raise RequestError("The file is empty.", param=FILE)
    is_known = len(part.content_type) <= MAX_TYPE_CHARS and _TYPE.fullmatch(part.content_type)
    return {
        "filename": part.filename,
        "content_type": part.content_type if is_known else UNKNOWN_TYPE,
        "bytes": len(part.content),
        "sha256": sha256(part.content).hexdigest(),
    }


def _add(members: JsonObject, part: FormPart, rules: FormRules) -> None:
    """Add the member that a field is, or a part of it. Raises RequestError."""
    try:
        text = part.content.decode()
    except UnicodeDecodeError:
        raise RequestError("The field is not UTF-8.", param=part.name[:80]) from None
    name = part.name.removesuffix("[]")
    within = _MEMBER.fullmatch(part.name)
    if name in rules.lists or name != part.name:
        listed = members.setdefault(name, [])
        if isinstance(listed, list):
            listed.append(text)
            return
    elif within is not None and within[1] in rules.json:
        found = members.setdefault(within[1], {})
        if isinstance(found, dict) and within[2] not in found:
            found[within[2]] = _read_json(text)
            return
    elif name not in members:
        members[name] = _read_json(text) if name in rules.json else text
        return
    raise RequestError(f"The form has {name[:80]} twice.", param=name[:80])


def _read_json(text: str) -> JsonValue:
    """Return the value that a text is, itself where it is none: it is checked what it has to be."""
    if text in ("True", "False"):  # as Python writes them
        return text == "True"
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return text
