"""The journal's files: what was written is read back, and nothing else."""

from __future__ import annotations

import errno
import os
import struct
from pathlib import Path
from zlib import crc32

import msgspec
import pytest

from gateway.journal.array_records import ArrayAdmitted, ArraySettled
from gateway.journal.file import (
    START,
    JournalWriter,
    NotDurable,
    Position,
    end_of,
    reaches,
    read_records,
    segments_in,
)
from gateway.journal.frames import MAGIC
from gateway.journal.record import Admitted, Damage, Record, Settled
from tests.money.office import admitted, settled

WORKSPACE = "01a1fd64-aaf4-748d-be12-7b8f9dbccee1"


def write(folder: Path, count: int, **options: int) -> tuple[list[Record], list[Position]]:
    journal = JournalWriter(folder, **options)
    first = admitted(WORKSPACE, 5)
    records: list[Record] = [first, settled(first, 3)]
    records += [admitted(WORKSPACE, hold) for hold in range(count - 2)]
    positions = [journal.append(record) for record in records]
    journal.sync()
    journal.close()
    return records, positions


def test_records_come_back_in_order_with_their_positions(tmp_path: Path) -> None:
    records, positions = write(tmp_path, 6)

    assert list(read_records(tmp_path)) == list(zip(records, positions, strict=True))
    assert [record for record, _ in read_records(tmp_path, positions[2])] == records[3:]
    assert end_of(tmp_path) == positions[-1]


def test_journal_rolls_into_segments_and_is_read_across_them(tmp_path: Path) -> None:
    records, positions = write(tmp_path, 12, segment_bytes=300)

    assert len(segments_in(tmp_path)) > 3
    assert [record for record, _ in read_records(tmp_path)] == records
    assert list(read_records(tmp_path, positions[-1])) == []


def test_drained_segments_are_removed_and_the_rest_is_still_read(tmp_path: Path) -> None:
    journal = JournalWriter(tmp_path, segment_bytes=300)
    records = [admitted(WORKSPACE, hold) for hold in range(12)]
    positions = [journal.append(record) for record in records]

    journal.delete_before(positions[8].segment)

    assert segments_in(tmp_path)[0] == positions[8].segment
    assert [record for record, _ in read_records(tmp_path, positions[8])] == records[9:]
    journal.close()


def test_journal_torn_at_any_byte_gives_the_whole_records_before_it(tmp_path: Path) -> None:
    records, positions = write(tmp_path, 4)
    [segment] = tmp_path.iterdir()
    whole = segment.read_bytes()

    for length in range(len(whole)):
        segment.write_bytes(whole[:length])
        expected = sum(position.offset <= length for position in positions)
        assert records_in(tmp_path) in (records[:expected], records[: expected + 1])


def records_in(folder: Path, position: Position = START) -> list[Record]:
    """Return what can be read."""
    entries = (entry for entry, _ in read_records(folder, position))
    return [entry for entry in entries if not isinstance(entry, Damage)]


def damages_in(folder: Path, position: Position = START) -> list[Damage]:
    entries = (entry for entry, _ in read_records(folder, position))
    return [entry for entry in entries if isinstance(entry, Damage)]


def test_reading_goes_on_behind_a_record_with_a_flipped_bit(tmp_path: Path) -> None:
    records, positions = write(tmp_path, 4)
    [segment] = tmp_path.iterdir()
    whole = segment.read_bytes()
    start, end = positions[0].offset, positions[1].offset

    for place in range(start, end - 1):  # behind the payload is an end mark, which says nothing
        for bit in (0x01, 0x10, 0x80):
            damaged = bytearray(whole)
            damaged[place] ^= bit
            segment.write_bytes(damaged)
            assert records_in(tmp_path) == [records[0], *records[2:]]
            assert damages_in(tmp_path) == [Damage(0, start, end, 1, bytes(damaged[start:end]))]


def test_a_zeroed_page_costs_only_the_records_in_it(tmp_path: Path) -> None:
    records, positions = write(tmp_path, 100)
    [segment] = tmp_path.iterdir()
    content = bytearray(segment.read_bytes())
    content[4096:8192] = bytes(4096)
    segment.write_bytes(content)
    starts = [0, *(position.offset for position in positions)]

    hit = [n for n in range(100) if starts[n] < 8192 and starts[n + 1] > 4096]

    assert records_in(tmp_path) == [r for n, r in enumerate(records) if n not in hit]
    assert [damage.records for damage in damages_in(tmp_path)] == [len(hit)]


def test_a_segment_that_is_gone_is_noticed_and_the_next_one_read(tmp_path: Path) -> None:
    records, positions = write(tmp_path, 12, segment_bytes=400)
    gone = [n for n, position in enumerate(positions) if position.segment == 1]
    (tmp_path / "00000001.journal").unlink()

    assert records_in(tmp_path) == [r for n, r in enumerate(records) if n not in gone]
    assert [damage.records for damage in damages_in(tmp_path)] == [len(gone)]


def test_a_record_that_was_being_written_is_no_damage(tmp_path: Path) -> None:
    records, positions = write(tmp_path, 3)
    [segment] = tmp_path.iterdir()
    whole = segment.read_bytes()
    torn = positions[1].offset + 30
    segment.write_bytes(whole[:torn] + bytes(len(whole) - torn))

    assert records_in(tmp_path) == records[:2]
    assert damages_in(tmp_path) == []


def test_text_in_a_record_cannot_pass_for_a_record(tmp_path: Path) -> None:
    forged = b"\x00\x00\x00\x00".join((MAGIC, MAGIC)).decode("latin-1")
    journal = JournalWriter(tmp_path)
    first, second = admitted(WORKSPACE, 1, user=forged), admitted(WORKSPACE, 2)
    positions = [journal.append(first), journal.append(second)]
    journal.close()
    [segment] = tmp_path.iterdir()
    content = bytearray(segment.read_bytes())
    content[5] ^= 1
    segment.write_bytes(content)

    assert MAGIC not in content[4 : positions[0].offset]
    assert records_in(tmp_path) == [second]


def test_a_journal_of_the_version_before_is_read_also_behind_damage(tmp_path: Path) -> None:
    first = admitted(WORKSPACE, 5)
    records: list[Admitted | Settled] = [first, settled(first, 3)]
    records += [admitted(WORKSPACE, n) for n in range(3)]
    frames = [old_frame(record) for record in records]
    segment = tmp_path / "00000000.journal"
    segment.write_bytes(b"".join(frames) + bytes(1000))

    assert records_in(tmp_path) == records
    for place in range(len(frames[0]), len(frames[0]) + len(frames[1])):
        damaged = bytearray(segment.read_bytes())
        damaged[place] ^= 0x10
        (tmp_path / "other").mkdir(exist_ok=True)
        (tmp_path / "other" / segment.name).write_bytes(damaged)
        assert records_in(tmp_path / "other") == [records[0], *records[2:]]
        assert [damage.records for damage in damages_in(tmp_path / "other")] == [1]


def old_frame(record: Admitted | Settled) -> bytes:
    payload = msgspec.msgpack.encode(as_array(record))
    return struct.pack(">II", len(payload), crc32(payload)) + payload


def as_array(record: Admitted | Settled) -> ArrayAdmitted | ArraySettled:
    """Return the record as the version before wrote it."""
    identity = msgspec.structs.asdict(record.identity)
    del identity["endpoint"], identity["traceparent"]  # not known then
    price = record.price if isinstance(record, Admitted) else record.served.price
    known = identity | {"hold_nusd": record.hold_nusd}
    known |= {name: getattr(price, name) for name in ("input_pusd", "cached_input_pusd")}
    known["output_pusd"] = price.output_pusd
    if isinstance(record, Admitted):
        return ArrayAdmitted(**known, model=record.model)
    receipt = msgspec.structs.asdict(record.receipt)
    usage = msgspec.structs.asdict(receipt.pop("usage"))
    served = msgspec.structs.asdict(record.served)
    known |= usage | receipt | served
    for name in ("others", "tools", "tool_runs", "tools_us", "processors", "price"):
        del known[name]
    return ArraySettled(**known, http_status=record.http_status, error_code=record.error_code)


def test_a_segment_whose_fsync_failed_is_written_to_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = JournalWriter(tmp_path)
    first, second = admitted(WORKSPACE, 1), admitted(WORKSPACE, 2)
    journal.append(first)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail_to_sync)
        with pytest.raises(NotDurable):
            journal.sync()
        with pytest.raises(NotDurable):
            journal.append(second)
        with pytest.raises(OSError, match="Read-only"):
            journal.reopen()
    assert journal.synced == START

    journal.reopen()
    position = journal.append(second)
    journal.sync()

    assert position.segment == 1
    assert journal.synced == position
    assert isinstance(journal.failure, NotDurable)
    assert records_in(tmp_path) == [first, second]
    journal.close()


def fail_to_sync(file: int) -> None:
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


@pytest.mark.parametrize(
    "tail", [b"\x00" * 64, b"\xff" * 64, b"\x00\x00\x00\x01\x00\x00\x00\x00\x90"]
)
def test_garbage_behind_the_last_record_is_not_read(tmp_path: Path, tail: bytes) -> None:
    records, _ = write(tmp_path, 3)
    [segment] = tmp_path.iterdir()
    segment.write_bytes(segment.read_bytes() + tail)

    assert records_in(tmp_path) == records


def test_record_that_the_disk_has_no_room_for_is_refused_and_the_next_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = JournalWriter(tmp_path, segment_bytes=150)
    first, lost, third = (admitted(WORKSPACE, hold) for hold in range(3))
    before = journal.append(first)

    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", fill_disk)
        with pytest.raises(OSError, match="No space left"):
            journal.append(lost)
    assert journal.end == before
    journal.append(third)

    assert [record for record, _ in read_records(tmp_path)] == [first, third]
    journal.close()


def fill_disk(*_: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_journal_of_a_killed_process_ends_behind_its_last_record(tmp_path: Path) -> None:
    journal = JournalWriter(tmp_path)
    records = [admitted(WORKSPACE, hold) for hold in range(3)]
    positions = [journal.append(record) for record in records]

    assert [record for record, _ in read_records(tmp_path)] == records
    assert end_of(tmp_path) == positions[-1]
    journal.close()


def test_position_beyond_what_a_power_loss_left_reads_nothing(tmp_path: Path) -> None:
    write(tmp_path, 3)

    assert list(read_records(tmp_path, Position(0, 10**6))) == []
    assert list(read_records(tmp_path / "gone", START)) == []


def test_journal_that_is_shorter_than_it_was_does_not_reach_as_far(tmp_path: Path) -> None:
    _, positions = write(tmp_path, 3)
    [segment] = tmp_path.iterdir()

    assert reaches(tmp_path, positions[-1])
    os.truncate(segment, positions[-1].offset - 1)
    assert not reaches(tmp_path, positions[-1])
    assert reaches(tmp_path, START)
    assert not reaches(tmp_path / "gone", positions[0])


def test_room_that_is_to_be_left_is_there_for_the_next_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = JournalWriter(tmp_path, segment_bytes=400)
    first, last = admitted(WORKSPACE, 1), admitted(WORKSPACE, 2)
    journal.append(first, 200)

    monkeypatch.setattr(os, "posix_fallocate", fill_disk)
    with pytest.raises(OSError, match="No space left"):
        journal.append(admitted(WORKSPACE, 3), 200)
    journal.append(last)

    assert [record for record, _ in read_records(tmp_path)] == [first, last]
    journal.close()
