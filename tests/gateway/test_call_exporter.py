"""What waits for a collector is bounded, and has nothing that could be large."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from gateway.core.call_identity import CallIdentity
from gateway.core.money import Price, Usage
from gateway.core.receipt import Receipt
from gateway.journal.record import Admitted, Refused, Served, Settled
from gateway.telemetry.call_exporter import BATCH, MAX_WAITING, CallExporter
from tests.support.waiting import wait_until


class Journal:
    """Keeps what it gets."""

    def __init__(self) -> None:
        self.records: list[Settled | Refused] = []

    def admitted(self, record: Admitted) -> None:
        raise AssertionError("no call begins here")

    def settled(self, record: Settled) -> None:
        self.records.append(record)

    def refused(self, record: Refused) -> None:
        self.records.append(record)


class GatedExport:
    """Sends nothing before it may."""

    def __init__(self) -> None:
        self.may_send = threading.Event()
        self.is_asked = threading.Event()
        self.counted = 0
        self.sent: list[Settled | Refused] = []

    def count(self, record: Settled | Refused) -> None:
        self.counted += 1

    def send_spans(self, records: Sequence[Settled | Refused]) -> str:
        self.is_asked.set()
        self.may_send.wait()
        self.sent += records
        return ""

    def send_metrics(self) -> str:
        return ""

    def close(self) -> None:
        """Nothing is open."""


def identity(number: int) -> CallIdentity:
    return CallIdentity(call_id=str(number), workspace_id="", key_id="", at=float(number))


def settled(number: int) -> Settled:
    return Settled(
        identity=identity(number),
        receipt=Receipt(status="success", charge_basis="", usage=Usage(1, 2)),
        served=Served(price=Price(1, 1, 1)),
        request_body="a long question",
        response_body="a long answer",
        kept=b"the whole answer",
    )


def test_the_newest_wait_without_their_bodies() -> None:
    journal, export = Journal(), GatedExport()
    exporter = CallExporter(journal, lambda: export, metrics_every_s=3600)
    exporter.start()
    exporter.settled(settled(0))
    export.is_asked.wait()
    number = 3 * MAX_WAITING

    for one in range(1, number):
        exporter.settled(settled(one))
    exporter.refused(
        Refused(identity=identity(number), http_status=402, error_code="insufficient_credits")
    )
    repeated = Refused(identity=identity(number), http_status=402, error_code="x", counted=7)
    exporter.refused(repeated)
    export.may_send.set()
    wait_until(lambda: export.sent[-1:] and export.sent[-1].at == number, what="the last call")
    exporter.stop()

    sent = [record for record in export.sent if isinstance(record, Settled)]
    assert len(export.sent) == 1 + MAX_WAITING
    assert export.sent[1].at == number - MAX_WAITING + 1
    assert {(one.request_body, one.response_body, one.kept) for one in sent} == {("", "", b"")}
    assert len(journal.records) == number + 2
    assert journal.records[-1] is repeated
    assert isinstance(journal.records[0], Settled)
    assert journal.records[0].kept == b"the whole answer"


def test_metrics_count_calls_whose_traces_wait() -> None:
    export = GatedExport()
    exporter = CallExporter(Journal(), lambda: export, metrics_every_s=3600)
    for one in range(2 * BATCH):
        exporter.settled(settled(one))

    exporter.start()
    export.is_asked.wait()

    assert (export.counted, export.sent) == (2 * BATCH, [])
    export.may_send.set()
    exporter.stop()
    assert len(export.sent) == 2 * BATCH
