"""A killed server's journal is moved, damaged or has a record that the database refuses."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any
from zlib import crc32

import msgspec
import pytest
from msgspec.structs import replace

from gateway.journal.file import read_records
from gateway.journal.frames import HEADER, MAGIC
from gateway.journal.record import Damage, Settled
from tests.faults.calling import call, call_until_drawn, get, statuses
from tests.support.rows import FILE, locked_database
from tests.support.servers import GatewayServer, run_manage, running_gateway

CALLS = 40


def die_with_calls_in_the_journal(gateway: GatewayServer) -> list[str]:
    """Make calls of which the database hears nothing, then kill the server; return their ids."""
    call_until_drawn(gateway)
    with locked_database(gateway.home):
        answers = [call(gateway) for _ in range(CALLS)]
        gateway.kill()
    assert {answer.status for answer in answers} == {200}
    return [answer.call_id for answer in answers]


def journal_of(home: Path) -> Path:
    """Return the segment that the killed server has left."""
    [segment] = (home / "journal").glob("*/*.journal")
    return segment


def end_of_call(segment: Path, call_id: str) -> tuple[int, int]:
    """Return where the frame of a call's end begins and where it ends."""
    start = 0
    for entry, position in read_records(segment.parent):
        assert not isinstance(entry, Damage)
        if isinstance(entry, Settled) and entry.call_id.replace("-", "") == call_id:
            return start, position.offset
        start = position.offset
    raise AssertionError(f"{call_id} is not in the journal")


def change(segment: Path, place: int, to: Callable[[int], int]) -> None:
    content = bytearray(segment.read_bytes())
    content[place] = to(content[place])
    segment.write_bytes(content)


def redate(segment: Path, start: int, end: int, at: float) -> None:
    """Replace the record of a frame by one that is as long, and of another moment."""
    content = bytearray(segment.read_bytes())
    number = HEADER.unpack_from(content, start)[1]
    record = msgspec.msgpack.decode(content[start + HEADER.size : end - 1], type=Settled)
    dated = replace(record, identity=replace(record.identity, at=at))
    payload = msgspec.msgpack.encode(dated)
    header = HEADER.pack(MAGIC, number, len(payload), crc32(payload, number))
    content[start : end - 1] = header + payload
    segment.write_bytes(content)


def proof_of(home: Path) -> dict[str, Any]:
    done = run_manage(home, "prove", "--json")
    proof: dict[str, Any] = json.loads(done.stdout)
    assert proof["breaks"] == []
    return proof


@pytest.mark.parametrize("stored", ["relative", "absolute"])
def test_a_home_that_was_moved_after_a_crash_loses_no_call(
    gateway: GatewayServer, home: Path, stored: str
) -> None:
    ids = die_with_calls_in_the_journal(gateway)
    if stored == "absolute":  # by a process of an earlier version
        with closing(sqlite3.connect(home / FILE)) as database, database:
            folder = f"{home}/journal/"
            changed = database.execute(
                "UPDATE gateway_servingprocess SET journal_path = ? || substr(journal_path, 9)"
                " WHERE journal_path LIKE 'journal/%'",
                [folder],
            )
            assert changed.rowcount > 0
    elsewhere = home.with_name("moved")
    home.rename(elsewhere)

    with running_gateway(elsewhere) as moved:
        known = statuses(elsewhere)
        moved.stop()

    assert {known.get(call_id) for call_id in ids} == {"ok"}
    assert proof_of(elsewhere)["journal_faults"] == []
    assert not list((elsewhere / "journal").iterdir())


def test_a_flipped_bit_costs_one_record_which_is_kept_aside_and_told(
    gateway: GatewayServer, home: Path
) -> None:
    ids = die_with_calls_in_the_journal(gateway)
    segment = journal_of(home)
    damaged = ids[CALLS // 2]
    start, end = end_of_call(segment, damaged)
    change(segment, start + 9, lambda byte: byte ^ 0x10)  # in the length
    raw = segment.read_bytes()[start:end]

    gateway.restart()
    known = statuses(home)
    state = get(gateway, "/status").body
    gateway.stop()
    [fault] = proof_of(home)["journal_faults"]
    told = run_manage(home, "prove")

    assert {known[call_id] for call_id in ids if call_id != damaged} == {"ok"}
    assert known[damaged] == "platform_aborted"
    assert (fault["kind"], fault["records"]) == ("damaged", 1)
    assert (fault["start_byte"], fault["end_byte"]) == (start, end)
    assert (home / fault["file"]).read_bytes() == raw
    assert state["journal_faults"] == 1
    assert told.returncode == 0
    assert "1 journal fault:" in told.stdout
    assert "cannot be read" in gateway.log.read_text()
    assert segment.with_suffix(".damaged").exists()


def test_a_record_that_does_not_post_is_set_aside_and_the_rest_go_on(
    gateway: GatewayServer, home: Path
) -> None:
    ids = die_with_calls_in_the_journal(gateway)
    segment = journal_of(home)
    poison = ids[CALLS // 2]
    start, end = end_of_call(segment, poison)
    redate(segment, start, end, 1e300)  # no date that any database knows

    gateway.restart()
    known = statuses(home)
    gateway.stop()
    [fault] = proof_of(home)["journal_faults"]

    assert {known[call_id] for call_id in ids if call_id != poison} == {"ok"}
    assert known[poison] == "platform_aborted"
    assert fault["kind"] == "unposted"
    assert fault["call_id"].replace("-", "") == poison
    assert "OverflowError" in fault["reason"]
    assert "1e300" in (home / fault["file"]).read_text()
