"""The rows a proof checks: the whole ledger, or what came since a mark. Names for the rules' SQL.

calls, entries, rolled_usage, rolled_latency: rows of the tables. proven_wallets, proven_keys: what
had been proved before the first of them (gateway.models.proof); nothing where all is looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import QuerySet

from accounts.ids import stored_id
from accounts.untyped import SqlRow
from gateway.models import CallRecord, ProofMark
from gateway.selectors.id_times import first_id_at

# A call's id is minted a moment before its time is taken, and clocks are set.
ID_MARGIN = timedelta(minutes=15)

_EVERYTHING = """
WITH calls AS (SELECT * FROM gateway_callrecord),
     entries AS (SELECT * FROM accounts_ledgerentry),
     rolled_usage AS (SELECT * FROM gateway_usagerollup),
     rolled_latency AS (SELECT * FROM gateway_latencyrollup),
     proven_wallets AS (SELECT * FROM gateway_provenwallet WHERE 1 = 0),
     proven_keys AS (SELECT * FROM gateway_provenkey WHERE 1 = 0)
"""
# Joined from the smaller side: CROSS JOIN tells SQLite, which has no statistics, to begin there.
_SINCE = """
WITH calls AS (SELECT * FROM gateway_callrecord WHERE id >= %s AND created_at >= %s),
     entries AS (SELECT e.* FROM accounts_wallet w
                 LEFT JOIN gateway_provenwallet v ON v.workspace_id = w.workspace_id
                 CROSS JOIN accounts_ledgerentry e
                 WHERE e.wallet_id = w.workspace_id AND e.sequence > COALESCE(v.sequence, 0)),
     rolled_usage AS (SELECT r.* FROM accounts_workspace w CROSS JOIN gateway_usagerollup r
                      WHERE r.workspace_id = w.id AND r.starts_at >= %s),
     rolled_latency AS (SELECT r.* FROM accounts_workspace w CROSS JOIN gateway_latencyrollup r
                        WHERE r.workspace_id = w.id AND r.starts_at >= %s),
     proven_wallets AS (SELECT * FROM gateway_provenwallet),
     proven_keys AS (SELECT * FROM gateway_provenkey)
"""


@dataclass(frozen=True, slots=True)
class Scope:
    """mark: None for the whole ledger."""

    mark: ProofMark | None = None

    @property
    def since(self) -> datetime | None:
        return self.mark.since if self.mark else None

    def calls(self) -> QuerySet[CallRecord]:
        """Return the same calls as `calls` means in a question."""
        return calls_since(self.mark.since) if self.mark else CallRecord.objects.all()

    def ask(self, question: str, *, most: int = 1) -> list[SqlRow]:
        """Return at most so many rows of a question that uses the names above."""
        with connection.cursor() as cursor:
            if self.mark is None:
                cursor.execute(_EVERYTHING + question, [])
            else:
                first = stored_id(first_id_at(self.mark.since - ID_MARGIN))
                moment = connection.ops.adapt_datetimefield_value(self.mark.since)
                cursor.execute(_SINCE + question, [first, moment, moment, moment])
            rows: list[SqlRow] = cursor.fetchmany(most)
            return rows


def calls_since(moment: datetime) -> QuerySet[CallRecord]:
    """Return the calls that began at the moment or later, by way of their ids."""
    first = first_id_at(moment - ID_MARGIN)
    return CallRecord.objects.filter(id__gte=first, created_at__gte=moment)
