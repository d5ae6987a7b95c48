"""What becomes of calls, as the hot path writes it down: in the journal, never waiting.

Everything slow is done by one thread (gateway.stores.writer). All methods are for the event loop's
thread. How records and credits go together: gateway.stores.credit_reserver.
"""

from __future__ import annotations

import logging

from gateway.core.errors import DatabaseUnavailable, StorageUnavailable
from gateway.journal.record import Admitted, Refused, Settled
from gateway.stores.writer import Writer

log = logging.getLogger(__name__)


class RecordLog:
    """The journal side of one process: how its calls begin and end."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._steps = writer.steps
        self._open: set[str] = set()
        self.is_fenced = False
        self.late_settles = 0

    def admitted(self, record: Admitted) -> None:
        """Write down that a call begins, before any byte of it goes upstream.

        Raises StorageUnavailable when the journal cannot be written, DatabaseUnavailable when
        this process has been declared dead, or may have been; then the call must not be made.
        """
        if self.is_fenced or self._writer.is_in_doubt(record.identity.at):
            raise self._writer.outage or DatabaseUnavailable(retry_after_s=1)
        try:
            self._steps.backlog.append(record)
        except OSError as error:
            raise StorageUnavailable(detail=str(error), retry_after_s=5) from error
        self._open.add(record.identity.call_id)

    def settled(self, record: Settled) -> None:
        """Write down how a call ended. Never raises; the second end of a call is dropped."""
        call_id = record.identity.call_id
        if call_id not in self._open:
            self.late_settles += 1
            log.warning("late settle of call %s dropped", call_id, extra={"call_id": call_id})
            return
        self._open.discard(call_id)
        self._steps.backlog.append_surely(record)

    def refused(self, record: Refused) -> None:
        """Write down a call of a known key that was not let in. Never raises."""
        if not self.is_fenced:
            self._steps.backlog.append_refusal(record)

    def on_fenced(self) -> None:
        """Another process has ended this one: its running calls have been settled by that."""
        self.is_fenced = True
        self._open.clear()

    def on_rejoined(self) -> None:
        """This process has a row and a journal again."""
        self.is_fenced = False
