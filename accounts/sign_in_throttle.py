"""Wrong passwords make the client's subnet wait, longer each time; no other subnet waits.

Counted in the database, so that all processes together allow what one would, and a restart forgets
nothing. Rows change by conditional updates (docs/adr/0014): of tries at the same moment one is
counted at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from hashlib import sha256

from django.db import transaction
from django.utils import timezone

from accounts.models import SignInTries

FREE_TRIES = 5
FREE_TRIES_PER_SUBNET = 30  # over all accounts: an office has one address
FIRST_WAIT_S = 2.0
LONGEST_WAIT_S = 15 * 60.0
FORGOTTEN_AFTER = timedelta(hours=1)
# Each time somebody else's try was counted meanwhile.
MOST_ROUNDS = 100

Keys = tuple[tuple[str, str], tuple[str, str]]


class SignInThrottle:
    """subnet: an address, or the network that IPv6 gives one line. account: as it was typed.

    A try counts as failed until it succeeds, so many at once are no way around.
    """

    def __init__(self, clock: Callable[[], datetime] = timezone.now) -> None:
        self._clock = clock

    def begin(self, subnet: str, account: str) -> float:
        """Count a try. Returns the seconds to wait, and counts nothing, when it comes too early."""
        keys = _keys(subnet, account)
        SignInTries.objects.filter(last_at__lt=self._clock() - FORGOTTEN_AFTER).delete()
        for _ in range(MOST_ROUNDS):
            now = self._clock()
            known = _read(keys, now)
            free = (FREE_TRIES, FREE_TRIES_PER_SUBNET)
            waits = [wait_s(*one, now) for one in zip(known, free, strict=True)]
            if any(waits):
                return max(waits)
            if _count(known, now):
                return 0.0
        return FIRST_WAIT_S

    def succeed(self, subnet: str, account: str) -> None:
        """Forget what failed at this account from this subnet, and this one try of the subnet."""
        own, of_subnet = _keys(subnet, account)
        SignInTries.objects.filter(subnet=own[0], account=own[1]).delete()
        while found := SignInTries.objects.filter(subnet=subnet, account=of_subnet[1]).first():
            if not found.failed or _change(found, failed=found.failed - 1, at=found.last_at):
                return

    def clear(self) -> None:
        SignInTries.objects.all().delete()


def wait_s(tries: SignInTries, free: int, now: datetime) -> float:
    """Return how long from now the next try has to wait."""
    if tries.failed < free:
        return 0.0
    pause_s = min(FIRST_WAIT_S * (1 << min(tries.failed - free, 30)), LONGEST_WAIT_S)
    return max(pause_s - (now - tries.last_at).total_seconds(), 0.0)


def _keys(subnet: str, account: str) -> Keys:
    """Return what a try counts for: the account from this subnet, then the subnet.

    The account by its digest: people type passwords into the wrong field.
    """
    return (subnet, sha256(account.encode("utf-8", "surrogatepass")).hexdigest()), (subnet, "")


def _read(keys: Keys, now: datetime) -> list[SignInTries]:
    """Return the rows of both, which are made where there are none."""
    found = {}
    for attempt in range(2):
        rows = SignInTries.objects.filter(subnet=keys[0][0], account__in=[keys[0][1], keys[1][1]])
        found = {(row.subnet, row.account): row for row in rows}
        if len(found) == len(keys) or attempt:
            break
        SignInTries.objects.bulk_create(
            [
                SignInTries(subnet=subnet, account=account, failed=0, last_at=now)
                for subnet, account in keys
            ],
            ignore_conflicts=True,
        )
    # One that was deleted just now fails to be counted, and is made in the next round.
    return [found.get(key) or SignInTries(subnet=key[0], account=key[1]) for key in keys]


def _count(known: list[SignInTries], now: datetime) -> bool:
    """Count a try in both rows, or in none when either is not as it was read."""
    with transaction.atomic():
        counted = all(_change(row, failed=row.failed + 1, at=now) for row in known)
        if not counted:
            transaction.set_rollback(True)
        return counted


def _change(row: SignInTries, *, failed: int, at: datetime) -> bool:
    """Write the row if nobody else has since it was read."""
    as_read = SignInTries.objects.filter(pk=row.pk, failed=row.failed, last_at=row.last_at)
    return as_read.update(failed=failed, last_at=at) == 1


throttle = SignInThrottle()
