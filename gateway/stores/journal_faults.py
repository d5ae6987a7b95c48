"""Journal records that are not in the ledger as written: kept in a file, noted in a row.

The row is written in the transaction that moves the journal's position past it, so that each
fault is noted once. The file is made before, by a name that is the same every time.
"""

from __future__ import annotations

import logging
import os
import uuid
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import msgspec
from django.conf import settings
from django.utils import timezone

from gateway.journal.file import Position
from gateway.journal.record import Damage, Record, spelled_out
from gateway.models import JournalFault

log = logging.getLogger(__name__)

FOLDER = "quarantine"
REASON_CHARS = 500


def keep_damage(process_id: uuid.UUID, damages: Sequence[Damage]) -> None:
    """Note parts of a journal that cannot be read."""
    for damage in damages:
        name = f"{process_id}-{damage.segment:08d}-{damage.start}.bytes"
        file = _save(name, damage.data) if damage.data else ""
        at_least = "" if damage.end == damage.start else f" in {damage.end - damage.start} bytes"
        reason = f"{damage.records} records{at_least} cannot be read."
        place = f"segment {damage.segment}, byte {damage.start}"
        log.error("journal of process %s: %s: %s Kept in %s", process_id, place, reason, file)
        JournalFault.objects.create(
            kind=JournalFault.Kind.DAMAGED,
            process_id=process_id,
            segment=damage.segment,
            start_byte=damage.start,
            end_byte=damage.end,
            records=damage.records,
            reason=reason,
            file=file,
            found_at=timezone.now(),
        )


def keep_record(
    process_id: uuid.UUID, record: Record, kind: JournalFault.Kind, error: Exception
) -> None:
    """Note a record that the database does not take as it is."""
    text = _as_text(record)
    name = f"{process_id}-{sha256(text).hexdigest()[:16]}-{kind.value}.json"
    reason = _plain(repr(error), REASON_CHARS)
    call_id = {"call_id": record.call_id}
    log.critical("call %s is %s: %s", record.call_id, kind.value, reason, extra=call_id)
    JournalFault.objects.create(
        kind=kind,
        process_id=process_id,
        call_id=_plain(record.call_id, 64),
        records=1,
        reason=reason,
        file=_save(name, text),
        found_at=timezone.now(),
    )


def has_faults(process_id: uuid.UUID) -> bool:
    """True when something of the process's journal is known to be lost."""
    return JournalFault.objects.filter(process_id=process_id).exists()


def damaged_segments(process_id: uuid.UUID) -> list[int]:
    """Return the numbers of the segments of which a part could not be read."""
    damaged = JournalFault.objects.filter(process_id=process_id, kind=JournalFault.Kind.DAMAGED)
    return [number for number in damaged.values_list("segment", flat=True) if number is not None]


def note_missing(process_id: uuid.UUID, folder: Path, position: Position) -> None:
    """Note that a journal, or the end of it, is gone: what only it had is lost."""
    log.error("journal %s ends before %s: calls that were only there are lost", folder, position)
    JournalFault.objects.create(
        kind=JournalFault.Kind.MISSING,
        process_id=process_id,
        segment=position.segment,
        start_byte=position.offset,
        records=0,
        reason=_plain(f"The journal {folder} is gone, or shorter than it was.", REASON_CHARS),
        found_at=timezone.now(),
    )


def _save(name: str, content: bytes) -> str:
    """Write a file into the quarantine; return its path relative to the home, or "" if it cannot
    be written: the journal's own segment is kept in any case."""
    path = Path(settings.HOME) / FOLDER / name
    try:
        path.parent.mkdir(mode=0o700, exist_ok=True)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(file, "wb") as opened:
            opened.write(content)
            opened.flush()
            os.fsync(opened.fileno())
    except OSError as error:
        log.error("%s cannot be kept in the quarantine: %s", name, error)
        return ""
    return f"{FOLDER}/{name}"


def _as_text(record: Record) -> bytes:
    try:
        return msgspec.json.encode(spelled_out(record))
    except (ValueError, OverflowError, msgspec.MsgspecError):
        return repr(record).encode(errors="backslashreplace")


def _plain(text: str, max_chars: int) -> str:
    return text.encode("utf-8", "replace").decode().replace("\x00", "")[:max_chars]
