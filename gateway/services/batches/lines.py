"""The lines of a batch's input file: where each is, and what it asks for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from gateway.endpoints.reading import explain
from gateway.file_storage.encryption import DecryptingReader

MAX_ID_CHARS = 256
NO_STREAM = b'"stream":false'
# Endpoints whose lines may be asked for. With those that can stream: an API key's profile may
# stream by default.
STREAMING = frozenset({"/v1/chat/completions", "/v1/completions", "/v1/messages", "/v1/responses"})
ENDPOINTS = (
    *sorted(STREAMING),
    "/v1/embeddings",
    "/v1/images/generations",
    "/v1/moderations",
    "/v1/rerank",
)


class LinePlace(NamedTuple):
    """Where a line is in its file. number: from 0, blank lines left out."""

    number: int
    offset: int
    size: int


class LineError(Exception):
    """A line that cannot be asked for."""

    def __init__(self, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.param = code, message, param


class _Asked(msgspec.Struct):
    custom_id: str
    method: Literal["POST"]
    url: str
    body: msgspec.Raw


class _Body(msgspec.Struct):
    model: str
    stream: bool | UnsetType | None = UNSET


class Line(NamedTuple):
    """A request. body: as it is sent."""

    place: LinePlace
    custom_id: str
    body: bytes


_read_line = msgspec.json.Decoder(_Asked).decode
_read_body = msgspec.json.Decoder(_Body).decode
_read_id = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def find_places(reader: DecryptingReader, offset: int, number: int) -> Iterator[LinePlace]:
    """Yield the lines from this byte on. number: of the first of them."""
    reader.seek(offset)
    for raw in reader.lines():
        if raw.strip():
            yield LinePlace(number, offset, len(raw))
            number += 1
        offset += len(raw) + 1


def read_raw(reader: DecryptingReader, place: LinePlace) -> bytes:
    reader.seek(place.offset)
    return bytes(reader.read(place.size))


def read_line(raw: bytes, place: LinePlace, endpoint: str) -> Line:
    """Return the request of a line. Raises LineError."""
    try:
        asked = _read_line(raw)
    except msgspec.ValidationError as error:
        told = explain(error, str, _Asked)
        raise LineError("invalid_json_line", told.message, told.param) from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise LineError("invalid_json_line", f"The line is not valid JSON: {error}.") from None
    if not 0 < len(asked.custom_id) <= MAX_ID_CHARS:
        message = f"custom_id must have 1 to {MAX_ID_CHARS} characters."
        raise LineError("invalid_custom_id", message, "custom_id")
    if asked.url != endpoint:
        message = f"The url must be {endpoint}, the endpoint of the batch."
        raise LineError("mismatched_endpoint", message, "url")
    try:
        body = _read_body(asked.body)
    except msgspec.ValidationError as error:
        raise _explain_body(error) from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise LineError(
            "invalid_request", f"The body is not valid JSON: {error}.", "body"
        ) from None
    if body.stream is True:
        raise LineError("invalid_request", "A batch has no streams.", "body.stream")
    sent = bytes(asked.body)
    if body.stream is UNSET and endpoint in STREAMING:
        sent = sent.rstrip()[:-1] + b"," + NO_STREAM + b"}"
    return Line(place, asked.custom_id, sent)


def _explain_body(error: msgspec.ValidationError) -> LineError:
    told = explain(error, str, _Body)
    if told.param is None:
        return LineError("invalid_request", told.message, "body")
    param = f"body.{told.param}"
    return LineError("invalid_request", told.message.replace(told.param, param, 1), param)


def find_custom_id(raw: bytes) -> str:
    """Return the custom_id of a line that was checked."""
    return str(msgspec.json.decode(_read_id(raw)["custom_id"]))


def read_places(rows: Iterable[tuple[int, int, int]]) -> list[LinePlace]:
    return [LinePlace(*row) for row in rows]
