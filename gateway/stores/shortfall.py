"""Costs beyond a hold: charged as far as the balance covers them, otherwise our loss.

A hold covers what a call can come to by our bound on its prompt. Where a provider counts more, the
process's purse pays what it has free (gateway.stores.credit_reserver). The rest is drawn from the
wallet here, in the transaction that posts the record, so that it happens once whoever posts it and
however often that is tried (docs/adr/0034). All amounts are nano-USD.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections import Counter
from collections.abc import Sequence

from django.conf import settings
from msgspec.structs import replace

from accounts import ledger
from gateway.core.calendar import UTC_NAME, calendar_at
from gateway.core.money import format_usd
from gateway.journal.record import Settled
from gateway.selectors.losses import lost_today
from keys.services import refuse_until

log = logging.getLogger(__name__)


def cover(process_id: uuid.UUID, record: Settled, losses: list[Settled]) -> Settled:
    """Return the record with what it owed charged or absorbed, the first drawn from the wallet
    into the process's purse. A record of which a part is absorbed here is added to `losses`."""
    owed_nusd = record.owed_nusd
    if not owed_nusd:
        return record
    workspace_id = uuid.UUID(record.workspace_id)
    drawn_nusd = ledger.draw(workspace_id, process_id, want_nusd=owed_nusd, least_nusd=1)
    receipt = record.receipt
    lost_nusd = owed_nusd - drawn_nusd
    final = replace(
        receipt,
        charge_nusd=receipt.charge_nusd - lost_nusd,
        absorbed_nusd=receipt.absorbed_nusd + lost_nusd,
    )
    covered = replace(record, receipt=final, owed_nusd=0)
    if drawn_nusd < owed_nusd:
        losses.append(covered)
    return covered


def follow_losses(losses: Sequence[Settled]) -> None:
    """Log what was lost, and refuse for the rest of the day the calls of keys that have cost us
    as much as they may. Inside the transaction that has written the records."""
    lost: Counter[str] = Counter()
    for record in losses:
        lost[record.key_id] += record.receipt.absorbed_nusd
    now = time.time()
    for key_id, amount_nusd in lost.items():
        today_nusd = lost_today(uuid.UUID(key_id), now)
        log.warning(
            "calls of key %s cost %s USD more than the balance had; %s USD today",
            key_id,
            format_usd(amount_nusd),
            format_usd(today_nusd),
        )
        if today_nusd >= settings.KEY_LOSS_NUSD_PER_DAY:
            tomorrow = calendar_at(UTC_NAME, now).day.ends_at
            refuse_until(uuid.UUID(key_id), until=tomorrow, lost_nusd=today_nusd)
