"""From where on the ledger is proved the next time (docs/adr/0029): read, and moved on.

A proof of what came since a mark adds to the sums that the mark has kept. So the mark's rows are
read as of the moment of the proof that found them right, and written only if it did.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Min

from accounts.ids import stored_id
from accounts.models import Wallet
from gateway.models import CallRecord, ProofMark, ProvenKey, ProvenWallet
from gateway.selectors.id_times import first_id_at
from gateway.selectors.periods import floor_to_quarter
from gateway.services.proof_scope import ID_MARGIN

# Calls that began before a mark must all be in the database by then, with their ends.
POSTED_WITHIN = timedelta(minutes=1)
ROWS = 500  # per statement
# Materialized: else SQLite goes through all calls there are, in the order of an index of keys.
_CHARGED = """
WITH calls AS MATERIALIZED (SELECT workspace_id, key_id, charge_nusd FROM gateway_callrecord
                            WHERE id >= %s AND created_at >= %s AND charge_nusd <> 0)
SELECT workspace_id, key_id, SUM(charge_nusd), COUNT(*) FROM calls GROUP BY workspace_id, key_id
"""


@dataclass(frozen=True, slots=True)
class MarkPlan:
    """A mark that could be set, as of the moment of a proof."""

    mark: ProofMark
    wallets: list[ProvenWallet]
    keys: list[ProvenKey]


def find_mark() -> ProofMark | None:
    """Return from where on the ledger has to be looked at, or None when that is all of it."""
    return ProofMark.objects.first()


def plan_mark(now: datetime) -> MarkPlan:
    """Return the newest mark that can be set, inside the proof's own read transaction."""
    running = CallRecord.objects.filter(status=CallRecord.Status.IN_PROGRESS)
    oldest = running.aggregate(oldest=Min("created_at"))["oldest"] or now
    since = floor_to_quarter(min(oldest, now - POSTED_WITHIN))
    return MarkPlan(ProofMark(since=since, marked_at=now), _wallets(), _keys(since))


def keep_mark(plan: MarkPlan) -> None:
    """Prove from here on the next time."""
    with transaction.atomic():
        drop_mark()
        plan.mark.save()
        ProvenWallet.objects.bulk_create(plan.wallets, batch_size=ROWS)
        ProvenKey.objects.bulk_create(plan.keys, batch_size=ROWS)


@transaction.atomic
def drop_mark() -> None:
    """Prove everything the next time."""
    for rows in (ProvenKey, ProvenWallet, ProofMark):
        rows._default_manager.all().delete()


def _wallets() -> list[ProvenWallet]:
    return [
        ProvenWallet(
            workspace_id=wallet.workspace_id,
            posted_nusd=wallet.posted_nusd,
            sequence=wallet.sequence,
        )
        for wallet in Wallet.objects.iterator()
    ]


def _keys(since: datetime) -> list[ProvenKey]:
    first = stored_id(first_id_at(since - ID_MARGIN))
    with connection.cursor() as cursor:
        cursor.execute(_CHARGED, [first, connection.ops.adapt_datetimefield_value(since)])
        return [
            ProvenKey(
                workspace_id=UUID(str(workspace)),
                key_id=UUID(str(key)),
                charge_nusd=charge_nusd,
                calls=calls,
            )
            for workspace, key, charge_nusd, calls in cursor.fetchall()
        ]
