"""The journal's files: written through memory, read back frame by frame (docs/adr/0009, 0019).

A folder holds segments `00000000.journal`, `00000001.journal`, … A frame is

    length of the payload (4 bytes) | CRC-32 of the payload (4 bytes) | payload (MessagePack)

in big-endian order. The segment being written is mapped into memory, its space set aside
beforehand and zero: a record costs no system call, and what was copied is the kernel's, so that
it outlives a killed process. Such a process leaves whole frames, at most one torn frame, and zeros.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import msgspec

from gateway.journal.record import Record

HEADER = struct.Struct(">II")
SEGMENT_BYTES = 4 * 1024 * 1024
SUFFIX = ".journal"


class Position(NamedTuple):
    """A place between two records: a segment's number, and an offset in bytes into it."""

    segment: int
    offset: int


START = Position(0, 0)
# What the class does when it is called, without the call.
new_position: Callable[[tuple[int, int]], Position] = partial(tuple.__new__, Position)


class JournalWriter:
    """The one writer of a journal. append() is for one thread; sync() may run in another."""

    def __init__(self, folder: Path, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        """Begin a new journal in an existing folder. Raises OSError when it cannot."""
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._encode = msgspec.msgpack.Encoder().encode
        self._full: list[int] = []
        self._synced = START
        self._segment = 0
        self._offset = 0
        self._file, self._memory = _open_segment(folder, 0, segment_bytes)
        self._size = segment_bytes

    @property
    def end(self) -> Position:
        """The position behind the last record."""
        return Position(self._segment, self._offset)

    def append(self, record: Record, leave_bytes: int = 0) -> Position:
        """Write one record; return the position behind it.

        leave_bytes: how much room there must be behind it, for records that cannot be refused.
        Raises OSError (a full disk) when there is no room for it; the journal then ends where it
        ended before.
        """
        payload = self._encode(record)
        frame = HEADER.pack(len(payload), crc32(payload)) + payload
        offset = self._offset
        end = offset + len(frame)
        if end + leave_bytes > self._size:
            self._roll(len(frame) + leave_bytes)
            offset, end = 0, len(frame)
        self._memory[offset:end] = frame
        self._offset = end
        return new_position((self._segment, end))

    def sync(self) -> None:
        """Make everything appended before this call durable."""
        end = self.end
        if end == self._synced:
            return
        # Oldest first: a later segment is never durable before an earlier one.
        while self._full:
            os.fsync(self._full[0])
            os.close(self._full.pop(0))
        os.fsync(self._file)
        self._synced = end

    def delete_before(self, segment: int) -> None:
        """Remove the segments that nobody will read again."""
        for number in segments_in(self._folder):
            if number < segment:
                _segment_path(self._folder, number).unlink(missing_ok=True)

    def close(self) -> None:
        """Release the files; what was appended stays as it is."""
        self._end_segment()
        for file in (*self._full, self._file):
            os.close(file)
        self._full.clear()

    def _roll(self, least_bytes: int) -> None:
        """Go on in a new segment that has room for so many bytes.

        The old one is cut to its length first: only in the last segment are zeros the end.
        """
        size = max(self._segment_bytes, least_bytes)
        file, memory = _open_segment(self._folder, self._segment + 1, size)
        self._end_segment()
        self._full.append(self._file)
        self._segment, self._offset = self._segment + 1, 0
        self._file, self._memory, self._size = file, memory, size

    def _end_segment(self) -> None:
        self._memory.close()
        os.ftruncate(self._file, self._offset)


def read_records(folder: Path, position: Position = START) -> Iterator[tuple[Record, Position]]:
    """Yield each record from the position on, with the position behind it.

    Ends at the first frame that is torn or corrupt, and where the journal ends.
    """
    decoder: msgspec.msgpack.Decoder[Record] = msgspec.msgpack.Decoder(Record)
    number, offset = position
    while (path := _segment_path(folder, number)).exists():
        with path.open("rb") as file:
            file.seek(offset)
            while header := file.read(HEADER.size):
                record = _read_payload(file.read, header, decoder)
                if record is None:
                    return
                offset = file.tell()
                yield record, Position(number, offset)
        number, offset = number + 1, 0


def end_of(folder: Path) -> Position:
    """Return where the journal's bytes end, whole frames or not; zeros behind them are room."""
    for number in reversed(segments_in(folder)):
        written = _segment_path(folder, number).read_bytes().rstrip(b"\0")
        if written:
            return Position(number, len(written))
    return START


def reaches(folder: Path, position: Position) -> bool:
    """True when the journal is as long as it must be if it was once read up to the position."""
    path = _segment_path(folder, position.segment)
    return position == START or (path.is_file() and path.stat().st_size >= position.offset)


def segments_in(folder: Path) -> list[int]:
    """Return the numbers of the segments that exist, in order."""
    return sorted(int(path.stem) for path in folder.glob(f"*{SUFFIX}"))


def _read_payload(
    read: Callable[[int], bytes], header: bytes, decoder: msgspec.msgpack.Decoder[Record]
) -> Record | None:
    """Return the record behind a header, or None when the frame is not whole and sound."""
    if len(header) < HEADER.size:
        return None
    length, checksum = HEADER.unpack(header)
    # A length of 0 is room that was never used, or data that a file system lost.
    if length == 0:
        return None
    payload = read(length)
    if len(payload) < length or crc32(payload) != checksum:
        return None
    try:
        return decoder.decode(payload)
    except msgspec.MsgspecError:
        return None


def _open_segment(folder: Path, number: int, size: int) -> tuple[int, mmap.mmap]:
    """Make a segment of zeros with all its space on the disk; return the file and its memory.

    Raises OSError when the disk has not as much: a hole would be found out when it is written,
    and there is no good answer to that.
    """
    path = _segment_path(folder, number)
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file, 0, size)
        else:
            os.pwrite(file, bytes(size), 0)
        return file, mmap.mmap(file, size)
    except BaseException:
        os.close(file)
        path.unlink(missing_ok=True)
        raise


def _segment_path(folder: Path, number: int) -> Path:
    return folder / f"{number:08d}{SUFFIX}"
