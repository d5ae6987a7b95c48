"""The frames of a journal's segment: how one is written, and how they are told from damage.

    magic (4 bytes) | number of the record (4) | length of the payload (4) | CRC-32 (4)
    | payload (MessagePack) | end mark (1)

in big-endian order. The CRC is that of the payload, begun with the record's number. Neither magic
nor end mark occurs in UTF-8, so that no text in a payload can pass for a frame.

Processes of earlier versions wrote: length (4) | CRC-32 of the payload (4) | payload. The payload
itself was an array then: gateway.journal.array_records.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import NamedTuple
from zlib import crc32

import msgspec

from gateway.journal.array_records import is_array, read_array
from gateway.journal.record import Record

MAGIC = b"\xf5TJ2"
END_MARK = b"\xf6"
HEADER = struct.Struct(">4sIII")
OLD_HEADER = struct.Struct(">II")
MAX_NUMBER = 2**32 - 1
# How the payload of an old frame begins: an array, whose first element is the record's tag.
OLD_PAYLOAD = re.compile(rb"(?:\xdc\x00.|[\x90-\x9f])\xa1[asr]", re.DOTALL)

_decoder: msgspec.msgpack.Decoder[Record] = msgspec.msgpack.Decoder(Record)


class Frame(NamedTuple):
    """A whole and sound frame. number: None in frames of earlier versions."""

    record: Record
    number: int | None
    start: int
    end: int


class Segment:
    """The bytes of one segment, read frame by frame."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.written = len(data.rstrip(b"\0"))  # what is behind is room that was never used
        self._is_old = self.written > 0 and MAGIC not in data

    def frame_at(self, offset: int) -> Frame | None:
        """Return the frame that begins at the offset, or None when it is not whole and sound."""
        return self._old_frame_at(offset) if self._is_old else self._frame_at(offset)

    def next_frame(self, offset: int) -> Frame | None:
        """Return the first sound frame that begins at the offset or later."""
        candidates = self._old_starts(offset) if self._is_old else self._starts(offset)
        frames = (self.frame_at(start) for start in candidates)
        return next((frame for frame in frames if frame is not None), None)

    def number_after(self, offset: int) -> int | None:
        """Return the number that a record has at the offset, by those before it, or None."""
        number, place = None, 0
        while place < offset:
            frame = self.frame_at(place) or self.next_frame(place + 1)
            if frame is None or frame.start >= offset:
                break
            number, place = frame.number, frame.end
        return None if number is None else number + 1

    def is_unfinished(self, offset: int) -> bool:
        """True when what begins at the offset is a record that its process died writing."""
        if not self._is_old:
            return self.data[self.written - 1 : self.written] != END_MARK
        if self.written - offset < OLD_HEADER.size:
            return True
        length, _ = OLD_HEADER.unpack_from(self.data, offset)
        return bool(offset + OLD_HEADER.size + length > self.written)

    def count_starts(self, start: int, end: int) -> int:
        """Return how many records seem to begin between the offsets, at least one."""
        return max(1, sum(place < end for place in self._starts(start)))

    def _frame_at(self, offset: int) -> Frame | None:
        data, begin = self.data, offset + HEADER.size
        if not data.startswith(MAGIC, offset) or begin > len(data):
            return None
        _, number, length, checksum = HEADER.unpack_from(data, offset)
        payload = data[begin : begin + length]
        if len(payload) < length or crc32(payload, number) != checksum:
            return None
        record = _decode(payload)
        end = min(begin + length + len(END_MARK), len(data))
        return None if record is None else Frame(record, number, offset, end)

    def _old_frame_at(self, offset: int) -> Frame | None:
        begin = offset + OLD_HEADER.size
        if begin > len(self.data):
            return None
        length, checksum = OLD_HEADER.unpack_from(self.data, offset)
        payload = self.data[begin : begin + length]
        if length == 0 or len(payload) < length or crc32(payload) != checksum:
            return None
        record = _decode(payload)
        return None if record is None else Frame(record, None, offset, begin + length)

    def _starts(self, offset: int) -> Iterator[int]:
        while (offset := self.data.find(MAGIC, offset)) >= 0:
            yield offset
            offset += 1

    def _old_starts(self, offset: int) -> Iterator[int]:
        for found in OLD_PAYLOAD.finditer(self.data, offset + OLD_HEADER.size):
            yield found.start() - OLD_HEADER.size


def _decode(payload: bytes) -> Record | None:
    try:
        return read_array(payload) if is_array(payload) else _decoder.decode(payload)
    except msgspec.MsgspecError:
        return None
