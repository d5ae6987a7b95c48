"""Results of lines: written down as they come, then put together to the files of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID, uuid5

import msgspec
from django.conf import settings

from gateway.core.errors import StorageUnavailable
from gateway.file_storage.encryption import Damaged, DecryptingReader, EncryptingWriter
from gateway.models import Batch, BatchPart, StoredFile
from gateway.services.batches.lines import LinePlace
from gateway.services.files.places import data_key_of, storage_of
from gateway.services.files.writing import NewFile, write_file

OUTPUT, ERRORS = "output", "errors"
PURPOSE = "batch_output"
JSONL = "application/jsonl"


class Answered(msgspec.Struct):
    status_code: int
    request_id: str
    body: msgspec.Raw


class WrittenError(msgspec.Struct):
    code: str
    message: str


class WrittenLine(msgspec.Struct):
    """A line of a file of results, as OpenAI writes it."""

    id: str
    custom_id: str
    response: Answered | None = None
    error: WrittenError | None = None


class Outcome(NamedTuple):
    """What has come of a line: its request's answer, good or not, or why it was not made."""

    place: LinePlace
    custom_id: str
    response: Answered | None = None
    error: WrittenError | None = None

    @property
    def is_good(self) -> bool:
        return self.response is not None and self.response.status_code < 300


@dataclass(slots=True)
class _Bytes:
    """A Sink and a Source of gateway.file_storage.encryption, in memory."""

    content: bytearray

    def write(self, data: bytes) -> None:
        self.content += data

    def read_at(self, offset: int, size: int) -> bytes:
        return bytes(self.content[offset : offset + size])

    def close(self) -> None:
        """There is nothing to close."""


def write_line(batch: Batch, outcome: Outcome) -> bytes:
    said = WrittenLine(
        id=f"batch_req_{batch.pk.hex}_{outcome.place.number}",
        custom_id=outcome.custom_id,
        response=outcome.response,
        error=outcome.error,
    )
    return msgspec.json.encode(said) + b"\n"


def make_part(batch: Batch, outcomes: Sequence[Outcome]) -> BatchPart:
    """Return what has come of some lines, to be saved."""
    part = BatchPart(batch=batch)
    key = data_key_of(storage_of(batch.workspace_id))
    for name in (OUTPUT, ERRORS):
        lines = b"".join(
            write_line(batch, each) for each in outcomes if each.is_good == (name == OUTPUT)
        )
        setattr(part, f"{name}_bytes", len(lines))
        setattr(part, name, _encrypt(part.pk, name, key, lines) if lines else b"")
    return part


def write_results(batch: Batch, name: str) -> None:
    """Write the file of good results or of errors, unless it is there or would be empty. Raises
    StorageUnavailable."""
    column = f"{name.removesuffix('s')}_file"
    if getattr(batch, column) is not None:
        return
    parts = BatchPart.objects.filter(batch=batch, **{f"{name}_bytes__gt": 0})
    if not parts.exists():
        return
    seconds = batch.output_expires_after_s
    new = NewFile(
        workspace_id=batch.workspace_id,
        filename=f"{batch.public_id}_{name}.jsonl",
        purpose=PURPOSE,
        content_type=JSONL,
        key_id=batch.key_id,
        has_quota=False,
        expires_after=timedelta(seconds=seconds)
        if seconds
        else timedelta(days=settings.BATCH_DAYS),
    )

    def set_file(file: StoredFile) -> None:
        Batch.objects.filter(pk=batch.pk).update(**{column: file.pk})

    setattr(batch, column, write_file(new, _pieces(batch, name), and_then=set_file).pk)


def _pieces(batch: Batch, name: str) -> Iterator[bytes]:
    key = data_key_of(storage_of(batch.workspace_id))
    parts = BatchPart.objects.filter(batch=batch, **{f"{name}_bytes__gt": 0})
    ids = list(parts.order_by("id").values_list("id", flat=True))
    for part_id in ids:
        part = BatchPart.objects.get(pk=part_id)
        size = getattr(part, f"{name}_bytes")
        source = _Bytes(bytearray(getattr(part, name)))
        try:
            yield from DecryptingReader(source, key, _file_id(part.pk, name), size).pieces()
        except Damaged as error:
            raise StorageUnavailable(detail=f"a part of {batch.public_id}: {error}") from None


def _encrypt(part_id: UUID, name: str, key: bytes, content: bytes) -> bytes:
    sink = _Bytes(bytearray())
    writer = EncryptingWriter(sink, key, _file_id(part_id, name))
    writer.write(content)
    writer.finish()
    return bytes(sink.content)


def _file_id(part_id: UUID, name: str) -> bytes:
    return uuid5(part_id, name).bytes
