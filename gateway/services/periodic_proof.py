"""Which proof is due each minute: of all rows, of the recent ones, or none (docs/adr/0029)."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.utils import timezone

from gateway.models import LedgerCheck
from gateway.selectors.money import find_last_full_check
from gateway.services.proof_marks import find_mark
from gateway.services.proving import Proof, prove

log = logging.getLogger(__name__)

FULL_EVERY = timedelta(hours=24)
# A book that does not add up is looked at whole, again and again, in a tenth of the time.
REST_FACTOR = 10


def prove_what_is_due(*, now: datetime | None = None) -> Proof | None:
    """Prove as much of the book as is due, and return the verdict; None while nothing is.

    A proof of the recent rows alone gives no bad verdict: whatever it finds, the proof of all rows
    decides. Raises DatabaseError when the database does not answer.
    """
    now = now or timezone.now()
    full = find_last_full_check()
    if full is not None and full.breaks and now < full.checked_at + REST_FACTOR * _duration(full):
        return None
    mark = find_mark()
    if mark is None or full is None or now >= full.checked_at + FULL_EVERY:
        return prove()
    proof = prove(mark=mark)
    if proof.holds:
        return proof
    log.warning("recent rows do not add up (%s): proving all of them", proof.breaks[0])
    return prove()


def _duration(check: LedgerCheck) -> timedelta:
    return timedelta(milliseconds=check.duration_ms)
