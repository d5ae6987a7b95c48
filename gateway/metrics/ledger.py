"""Metrics of the ledger, which every process of an installation reads from the same rows."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

from django.db import Error as DatabaseError
from django.db import connections
from django.utils import timezone
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from gateway.metrics.families import gauge
from gateway.selectors.journal_faults import count_journal_faults
from gateway.selectors.money import find_last_check
from gateway.selectors.processes import silent_processes

log = logging.getLogger(__name__)


class LedgerCollector(Collector):
    """may_ask: whether the database answers. Metrics must not wait for one that does not."""

    def __init__(self, may_ask: Callable[[], bool]) -> None:
        self._may_ask = may_ask

    def collect(self) -> Iterator[Metric]:
        is_up = self._may_ask()
        found: list[Metric] = []
        if is_up:
            try:
                found = list(self._read())
            except DatabaseError as error:
                log.warning("metrics of the ledger cannot be read: %r", error)
                is_up = False
            finally:
                connections.close_all()
        yield gauge("database_up", "1 if the database answers.", int(is_up))
        yield from found

    def _read(self) -> Iterator[Metric]:
        yield gauge(
            "journal_faults",
            "Journal records that could not be posted (manage.py prove lists them).",
            count_journal_faults(),
        )
        silent = silent_processes()
        yield gauge(
            "unreplayed_journals",
            "Dead processes whose journals are not posted yet (page Hosts).",
            len(silent),
        )
        yield gauge(
            "unreplayed_reserved_nusd",
            "What these processes have reserved.",
            sum(row.reserved_nusd for row in silent),
        )
        yield gauge(
            "unreplayed_open_calls",
            "Calls of these processes that have not ended.",
            sum(row.open_calls for row in silent),
        )
        check = find_last_check()
        if check is None:
            return
        age_s = (timezone.now() - check.checked_at).total_seconds()
        yield gauge("proof_age_seconds", "Since the ledger was last verified.", age_s)
        yield gauge(
            "proof_breaks",
            "Invariants that the last verification found broken; 0: the ledger adds up.",
            len(check.breaks),
        )
