"""The journal's files: written with write(2), read back frame by frame (docs/adr/0009).

A folder holds segments `00000000.journal`, `00000001.journal`, … A frame is

    length of the payload (4 bytes) | CRC-32 of the payload (4 bytes) | payload (MessagePack)

in big-endian order. One record is one write, so a killed process leaves whole frames, or at most
one torn frame at the very end, which the reader leaves out.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import msgspec

from gateway.journal.record import Record

HEADER = struct.Struct(">II")
SEGMENT_BYTES = 64 * 1024 * 1024
SUFFIX = ".journal"


class Position(NamedTuple):
    """A place between two records: a segment's number, and an offset in bytes into it."""

    segment: int
    offset: int


START = Position(0, 0)


class JournalWriter:
    """The one writer of a journal. append() is for one thread; sync() may run in another."""

    def __init__(self, folder: Path, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        """Begin a new journal in an existing folder. Raises OSError when it cannot."""
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._encoder = msgspec.msgpack.Encoder()
        self._frame = bytearray()
        self._full: list[int] = []
        self._synced = START
        self._torn = False
        self.end = START
        self._file = _open_segment(folder, 0)

    def append(self, record: Record) -> Position:
        """Write one record; return the position behind it.

        Raises OSError (a full disk) when it could not be written whole; the file then ends where
        it ended before.
        """
        if self._torn:
            self._mend()
        if self.end.offset >= self._segment_bytes:
            self._roll()
        frame = self._frame
        self._encoder.encode_into(record, frame, HEADER.size)
        with memoryview(frame) as view:
            HEADER.pack_into(frame, 0, len(frame) - HEADER.size, crc32(view[HEADER.size :]))
        try:
            written = os.write(self._file, frame)
        except OSError:
            self._torn = True
            raise
        if written != len(frame):
            self._torn = True
            raise OSError("the disk took only a part of a journal record")
        self.end = Position(self.end.segment, self.end.offset + written)
        return self.end

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
        for file in (*self._full, self._file):
            os.close(file)
        self._full.clear()

    def _mend(self) -> None:
        """Cut off what a failed write may have left behind."""
        os.ftruncate(self._file, self.end.offset)
        self._torn = False

    def _roll(self) -> None:
        number = self.end.segment + 1
        file = _open_segment(self._folder, number)
        self._full.append(self._file)
        self._file = file
        self.end = Position(number, 0)


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
    """Return where the journal's bytes end, whole frames or not."""
    numbers = segments_in(folder)
    if not numbers:
        return START
    return Position(numbers[-1], _segment_path(folder, numbers[-1]).stat().st_size)


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
    # A length of 0 is what a file system leaves when it grew the file and lost the data.
    if length == 0:
        return None
    payload = read(length)
    if len(payload) < length or crc32(payload) != checksum:
        return None
    try:
        return decoder.decode(payload)
    except msgspec.MsgspecError:
        return None


def _open_segment(folder: Path, number: int) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
    return os.open(_segment_path(folder, number), flags, 0o600)


def _segment_path(folder: Path, number: int) -> Path:
    return folder / f"{number:08d}{SUFFIX}"
