"""An upload: a form that arrives piece by piece becomes a stored file.

One pass: what arrives is taken apart, looked at, encrypted and written before more is read. For
one thread at a time.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from uuid import UUID

from django.utils import timezone

from accounts.changes import record_audit
from accounts.models import Workspace
from gateway.core.errors import IdempotencyMismatch, RequestError
from gateway.core.form_stream import FormStream
from gateway.core.forms import FormPart
from gateway.media.upload_checks import clean_filename
from gateway.models import StoredFile
from gateway.models.file import UPLOAD_PURPOSES
from gateway.services.files.content_checks import PURPOSE, ContentChecks
from gateway.services.files.places import storage_of
from gateway.services.files.quota import FORM_BYTES, check_quota, sizes_to_reserve
from gateway.services.files.writing import AlreadyUploaded, FileWriter, NewFile

FILE = "file"
ANCHOR, SECONDS = "expires_after[anchor]", "expires_after[seconds]"
# As Anthropic's SDKs send it.
EXPIRES_IN = "expires_in_seconds"
FIELDS = (PURPOSE, ANCHOR, SECONDS, EXPIRES_IN)
MAX_FIELD_BYTES = 1024
MAX_NAME_CHARS = 4096
MIN_EXPIRY_S, MAX_EXPIRY_S = 3600, 30 * 24 * 60 * 60
WHOLE_NUMBER = re.compile(r"[0-9]{1,9}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Uploader:
    """Who uploads. length_bytes: what the head says of the body, 0 for nothing. purpose: where the
    form has none; empty where it has to have one."""

    workspace_id: UUID
    key_id: UUID | None = None
    member: str = ""
    idempotency_key: str = ""
    length_bytes: int = 0
    purpose: str = ""


class Upload:
    """One form. Afterwards `abort`, unless `finish` has returned."""

    def __init__(self, uploader: Uploader, boundary: bytes) -> None:
        """Raises PayloadTooLarge and StorageQuotaExceeded for what the head shows already."""
        self._uploader = uploader
        self._form = FormStream(boundary)
        check_quota(storage_of(uploader.workspace_id), max(uploader.length_bytes - FORM_BYTES, 0))
        self._fields: dict[str, str] = {}
        self._field: tuple[str, bytearray] | None = None
        self._part: FormPart | None = None
        self._writer: FileWriter | None = None
        # What was uploaded with the idempotency key before; this upload is only compared with it.
        self._earlier: StoredFile | None = None
        self._digest = hashlib.sha256()
        self._checks = ContentChecks()

    @property
    def is_replay(self) -> bool:
        return self._earlier is not None

    def feed(self, data: bytes) -> None:
        """Raises RequestError, PayloadTooLarge, Conflict, StorageUnavailable."""
        for event in self._form.feed(data):
            if isinstance(event, FormPart):
                self._begin(event)
            elif event is None:
                self._end_part()
            else:
                self._add(event)

    def touch(self) -> None:
        """Say that the upload goes on, where pieces come seldom."""
        if self._writer is not None:
            self._writer.touch()

    def finish(self) -> StoredFile:
        """Return the file. Raises as feed does, InvalidFile, UnsupportedFileType,
        StorageQuotaExceeded and IdempotencyMismatch."""
        self._form.finish()
        new = self._read_fields()
        self._checks.close()
        if self._earlier is not None:
            return self._compare(self._earlier, new)
        assert self._writer is not None
        return self._writer.finish(new)

    def abort(self) -> None:
        self._checks.close()
        if self._writer is not None:
            self._writer.abort()
            self._writer = None

    def _begin(self, part: FormPart) -> None:
        name = part.name
        if part.filename is None and name != FILE:
            if name not in FIELDS:
                raise RequestError(f"Unknown parameter: {name[:80]}.", param=name[:80])
            if name in self._fields:
                raise RequestError(f"The form has {name} twice.", param=name)
            self._field = name, bytearray()
            return
        if name != FILE:
            raise RequestError(f"The file must be the field {FILE}.", param=name[:80])
        if self._part is not None:
            raise RequestError("The form has more than one file.", param=FILE)
        if not part.filename:
            raise RequestError(f"The field {FILE} must be a file with a filename.", param=FILE)
        if '"' in part.filename:
            raise RequestError("The filename must not have a double quote.", param=FILE)
        self._part = part
        self._open()

    def _open(self) -> None:
        uploader = self._uploader
        try:
            self._writer = FileWriter.begin(
                NewFile(
                    workspace_id=uploader.workspace_id,
                    key_id=uploader.key_id,
                    uploaded_by=uploader.member,
                    idempotency_key=uploader.idempotency_key,
                    reserve=sizes_to_reserve(uploader.length_bytes),
                )
            )
        except AlreadyUploaded as found:
            self._earlier = found.file

    def _add(self, piece: bytes) -> None:
        if self._field is not None:
            name, content = self._field
            content += piece
            if len(content) > MAX_FIELD_BYTES:
                raise RequestError(f"{name} is too long.", param=name)
            return
        self._checks.feed(piece, self._fields.get(PURPOSE, self._uploader.purpose))
        if self._writer is None:
            self._digest.update(piece)
        else:
            self._writer.write(piece)

    def _end_part(self) -> None:
        if self._field is None:
            return
        name, content = self._field
        try:
            self._fields[name] = content.decode()
        except UnicodeDecodeError:
            raise RequestError(f"{name} is not UTF-8.", param=name) from None
        self._field = None

    def _read_fields(self) -> NewFile:
        """Return what the file is to be, all of the form being there."""
        part, purpose = self._part, self._fields.get(PURPOSE, self._uploader.purpose)
        if part is None:
            raise RequestError(f"{FILE} is required.", param=FILE)
        if purpose not in UPLOAD_PURPOSES:
            known = ", ".join(UPLOAD_PURPOSES)
            raise RequestError(f"{PURPOSE} must be one of: {known}.", param=PURPOSE)
        expires_after_s = read_expiry(self._fields)
        filename = clean_filename((part.filename or "")[:MAX_NAME_CHARS])
        content_type = self._checks.finish(purpose, part.content_type, part.filename or "")
        new = NewFile(
            workspace_id=self._uploader.workspace_id,
            filename=filename,
            purpose=purpose,
            content_type=content_type,
        )
        if expires_after_s:
            ends = timezone.now() + timedelta(seconds=expires_after_s)
            new = replace(new, expires_at=ends)
        return new

    def _compare(self, earlier: StoredFile, new: NewFile) -> StoredFile:
        asked = (new.filename, new.purpose, self._digest.hexdigest())
        if (earlier.filename, earlier.purpose, earlier.sha256) != asked:
            raise IdempotencyMismatch
        return earlier


def read_expiry(fields: dict[str, str]) -> int:
    """Return after how many seconds a file expires, 0 for never. Raises RequestError."""
    if fields.get(ANCHOR) not in (None, "created_at"):
        raise RequestError("expires_after[anchor] must be created_at.", param=ANCHOR)
    names = {SECONDS, EXPIRES_IN} & fields.keys()
    if ANCHOR in fields:
        names.add(SECONDS)
    return min([_read_seconds(name, fields.get(name)) for name in sorted(names)], default=0)


def _read_seconds(name: str, seconds: str | None) -> int:
    is_number = seconds is not None and WHOLE_NUMBER.fullmatch(seconds)
    if not is_number or not MIN_EXPIRY_S <= int(seconds or 0) <= MAX_EXPIRY_S:
        raise RequestError(
            f"{name} must be a number from {MIN_EXPIRY_S} to {MAX_EXPIRY_S}.", param=name
        )
    return int(seconds or 0)


def store_form_file(
    workspace: Workspace,
    pieces: Iterable[bytes],
    *,
    filename: str,
    content_type: str,
    size_bytes: int,
    purpose: str,
    expires_after_s: int,
    actor: str,
) -> StoredFile:
    """Store a file that a member chose on a page. Raises as Upload's methods do."""
    new = NewFile(workspace_id=workspace.pk, uploaded_by=actor, reserve=(size_bytes,))
    with closing(ContentChecks()) as checks, FileWriter.begin(new) as writer:
        for piece in pieces:
            checks.feed(piece, purpose)
            writer.write(piece)
        found = checks.finish(purpose, content_type, filename)
        ends = timezone.now() + timedelta(seconds=expires_after_s)
        new = replace(
            new,
            filename=clean_filename(filename[:MAX_NAME_CHARS]),
            purpose=purpose,
            content_type=found,
            expires_at=ends if expires_after_s else None,
        )
        return writer.finish(new, and_then=partial(_audit, workspace, actor))


def _audit(workspace: Workspace, actor: str, file: StoredFile) -> None:
    record_audit(
        actor=actor,
        action="file.upload",
        target=file.public_id,
        workspace=workspace,
        details={"filename": file.filename, "size_bytes": file.size_bytes},
    )
