"""The journal's files: written through memory, read back record by record (docs/adr/0009, 0019).

A folder holds segments `00000000.journal`, `00000001.journal`, … of frames (see
gateway.journal.frames). The segment being written is mapped into memory, its space set aside
beforehand and zero: a record costs no system call, and what was copied is the kernel's, so that it
outlives a killed process. Such a process leaves whole frames, at most one torn frame, and zeros.

A segment of which an fsync has failed is not written to again, and never synced again: the kernel
may have dropped what it could not write, and would say so only once. See docs/adr/0035.
"""

from __future__ import annotations

import errno
import mmap
import os
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import msgspec

from gateway.journal.frames import END_MARK, HEADER, MAGIC, MAX_NUMBER, Segment
from gateway.journal.record import Damage, Entry, Record

SEGMENT_BYTES = 4 * 1024 * 1024
SUFFIX = ".journal"
DAMAGED_SUFFIX = ".damaged"


class Position(NamedTuple):
    """A place between two records: a segment's number, and an offset in bytes into it."""

    segment: int
    offset: int


START = Position(0, 0)
# What the class does when it is called, without the call.
new_position: Callable[[tuple[int, int]], Position] = partial(tuple.__new__, Position)


class NotDurable(OSError):
    """The disk has failed to keep records of this journal (an fsync failed)."""


class JournalWriter:
    """The one writer of a journal. append() is for one thread; sync() and reopen() for another.

    failure: why the journal is not to be trusted with the beginning of a call, or None. Ends of
    calls are still taken once reopen() has found a place for them.
    """

    def __init__(self, folder: Path, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        """Begin a new journal in an existing folder. Raises OSError when it cannot."""
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._encode = msgspec.msgpack.Encoder().encode
        self._full: list[tuple[int, int]] = []  # segments to be synced: number, file
        self._synced = START
        self._segment = 0
        self._offset = 0
        self._number = 0
        self._file, self._memory = _open_segment(folder, 0, segment_bytes)
        self._size = segment_bytes
        self._changing = threading.Lock()  # held while files are exchanged
        self._damaged: set[int] = set()
        self._distrusted = -1  # the last segment of which an fsync has failed
        self._spare: tuple[int, int, mmap.mmap] | None = None
        self._is_closed = False
        self.failure: NotDurable | None = None

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
        number = self._number
        header = HEADER.pack(MAGIC, number, len(payload), crc32(payload, number))
        frame = header + payload + END_MARK
        offset = self._offset
        end = offset + len(frame)
        if end + leave_bytes > self._size:
            self._roll(len(frame) + leave_bytes)
            offset, end = 0, len(frame)
        self._memory[offset:end] = frame
        self._offset = end
        self._number = number + 1 & MAX_NUMBER
        return new_position((self._segment, end))

    def sync(self) -> None:
        """Make everything appended before this call durable.

        Raises NotDurable when that failed; the segments concerned are then left as they are.
        """
        end = self.end
        if end == self._synced or end.segment <= self._distrusted:
            return
        try:
            # Oldest first: a later segment is never durable before an earlier one.
            while self._full:
                number, file = self._full[0]
                if number > self._distrusted:
                    os.fsync(file)
                os.close(file)
                del self._full[0]
            os.fsync(self._file)
        except OSError as error:
            if self._is_closed:  # by the other thread, just now
                return
            raise self._distrust(error) from error
        self._synced = end

    @property
    def synced(self) -> Position:
        """Everything before this position is durable."""
        return self._synced

    def reopen(self) -> None:
        """Make a new segment, for records behind one that is not trusted; see that it is durable.

        Raises OSError while that fails.
        """
        if self._spare is not None:
            return
        number = self._segment + 1
        file, memory = _open_segment(self._folder, number, self._segment_bytes)
        try:
            os.fsync(file)
            _sync_folder(self._folder)
        except OSError:
            memory.close()
            os.close(file)
            _segment_path(self._folder, number).unlink(missing_ok=True)
            raise
        with self._changing:
            self._spare = number, file, memory

    def trust(self) -> None:
        """Take beginnings of calls again: whatever the failed segments had is elsewhere by now."""
        self.failure = None

    def delete_before(self, segment: int) -> None:
        """Remove the segments that nobody will read again, and rename those that are damaged."""
        for number in segments_in(self._folder):
            if number >= segment:
                break
            if number in self._damaged:
                set_damaged_aside(self._folder, number)
            else:
                _segment_path(self._folder, number).unlink(missing_ok=True)

    def note_damage(self, segment: int) -> None:
        """A part of the segment could not be read: it is never deleted."""
        self._damaged.add(segment)

    def close(self) -> None:
        """Release the files; what was appended stays as it is."""
        self._is_closed = True
        self._end_segment()
        for _, file in self._full:
            os.close(file)
        os.close(self._file)
        self._full.clear()
        if self._spare is not None:
            _, file, memory = self._spare
            memory.close()
            os.close(file)

    def _roll(self, least_bytes: int) -> None:
        """Go on in a new segment that has room for so many bytes.

        The old one is cut to its length first: what is behind the last record is never read.
        """
        with self._changing:
            size = max(self._segment_bytes, least_bytes)
            number = self._segment + 1
            if self._segment <= self._distrusted:
                if self._spare is None:
                    raise self.failure or NotDurable(errno.EIO, os.strerror(errno.EIO))
                (number, file, memory), self._spare = self._spare, None
                size = len(memory)
            else:
                file, memory = _open_segment(self._folder, number, size)
            self._end_segment()
            self._full.append((self._segment, self._file))
            self._segment, self._offset = number, 0
            self._file, self._memory, self._size = file, memory, size
        if least_bytes > size:
            self._roll(least_bytes)

    def _distrust(self, error: OSError) -> NotDurable:
        """Write to nothing that was there before the failure."""
        with self._changing:
            self._distrusted = self._segment
            self._size = 0  # so that append() comes to _roll
            self.failure = NotDurable(error.errno, f"the disk did not keep it: {error.strerror}")
        return self.failure

    def _end_segment(self) -> None:
        self._memory.close()
        try:
            os.ftruncate(self._file, self._offset)
        except OSError:
            # Zeros behind the last record are not taken for records, either.
            if self._segment > self._distrusted:
                raise


def read_records(
    folder: Path, position: Position = START, until: Position | None = None
) -> Iterator[tuple[Entry, Position]]:
    """Yield each record from the position on, with the position behind it.

    What is damaged is passed over and yielded as Damage; reading goes on with the next sound
    frame. Ends where the journal ends, before a record that was never finished, or at `until`,
    which is a position behind a record.
    """
    last = (until or end_of(folder)).segment
    numbers = [number for number in segments_in(folder) if position.segment <= number <= last]
    reader = _Reader(0 if position == START else None)
    for number in numbers:
        data = _read_segment(folder, number)
        if until is not None and number == until.segment:
            data = data[: until.offset]
        start = position.offset if number == position.segment else 0
        may_be_torn = number == last and until is None
        yield from reader.read(number, data, start, may_be_torn=may_be_torn)


class _Reader:
    """Reads one segment after the other, and counts what is missing between two records."""

    def __init__(self, first: int | None) -> None:
        self._next = first  # the number of the next record; None while unknown

    def read(
        self, segment: int, data: bytes, offset: int, *, may_be_torn: bool
    ) -> Iterator[tuple[Entry, Position]]:
        content = Segment(data)
        while offset < content.written:
            frame = content.frame_at(offset) or content.next_frame(offset + 1)
            if frame is None:
                if not (may_be_torn and content.is_unfinished(offset)):
                    yield self._rest(segment, content, offset)
                return
            if frame.start > offset and self._next is None:
                self._next = content.number_after(offset)
            missing = self._missing(frame.number)
            if frame.start > offset or missing:
                lost = missing or content.count_starts(offset, frame.start)
                damage = Damage(segment, offset, frame.start, lost, data[offset : frame.start])
                yield damage, Position(segment, frame.start)
            self._next = None if frame.number is None else frame.number + 1
            offset = frame.end
            yield frame.record, Position(segment, offset)

    def _rest(self, segment: int, content: Segment, offset: int) -> tuple[Entry, Position]:
        """Return what there is to say of a segment behind which nothing sound is left in it."""
        end = content.written
        lost = content.count_starts(offset, end)
        if self._next is not None:
            self._next += lost
        damage = Damage(segment, offset, end, lost, content.data[offset:end])
        return damage, Position(segment, end)

    def _missing(self, number: int | None) -> int:
        if number is None or self._next is None:
            return 0
        return max(0, number - self._next)


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


def set_damaged_aside(folder: Path, segment: int) -> None:
    """Give a segment with a damaged part a name under which it is kept for good."""
    path = _segment_path(folder, segment)
    if path.exists():
        path.rename(path.with_suffix(DAMAGED_SUFFIX))


def segments_in(folder: Path) -> list[int]:
    """Return the numbers of the segments that exist, in order."""
    return sorted(int(path.stem) for path in folder.glob(f"*{SUFFIX}"))


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


def _read_segment(folder: Path, number: int) -> bytes:
    return _segment_path(folder, number).read_bytes()


def _segment_path(folder: Path, number: int) -> Path:
    return folder / f"{number:08d}{SUFFIX}"


def _sync_folder(folder: Path) -> None:
    """Make the names of the folder's files durable."""
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
