"""The only writer of wallets, ledger entries and purses (docs/adr/0005, docs/adr/0009).

No row locks: SQLite ignores them. Every change is one conditional UPDATE whose row
count tells whether it happened, and the CHECKs of the tables stand behind it. A ledger entry
takes its number and its balance from the wallet as its own transaction has just left it.

All amounts are nano-USD.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Sequence
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from django.db import IntegrityError, connection, transaction
from django.db.models import F
from django.utils import timezone

from accounts.ids import new_id, stored_id
from accounts.models import AuditEvent, ConfigChange, LedgerEntry, Purse, Wallet, Workspace
from accounts.untyped import SqlValue

MAX_NUSD = 2**63 - 1
DRAW_TRIES = 20

FILL_PURSE = """
INSERT INTO accounts_purse (wallet_id, process_id, amount_nusd) VALUES (%s, %s, %s)
ON CONFLICT (wallet_id, process_id)
DO UPDATE SET amount_nusd = accounts_purse.amount_nusd + excluded.amount_nusd
"""
SPEND_WALLET = """
UPDATE accounts_wallet
SET posted_nusd = posted_nusd - %s, drawn_nusd = drawn_nusd - %s, sequence = sequence + %s
WHERE workspace_id = %s AND drawn_nusd >= %s
"""
SPEND_PURSE = """
UPDATE accounts_purse SET amount_nusd = amount_nusd - %s
WHERE wallet_id = %s AND process_id = %s AND amount_nusd >= %s
"""
ENTER_USAGE = """
INSERT INTO accounts_ledgerentry
    (wallet_id, sequence, kind, amount_nusd, balance_nusd, source, key_id, calls, actor, reason,
     created_at)
SELECT workspace_id, sequence - %s, 'usage', %s, posted_nusd + %s, %s, %s, %s, '', '', %s
FROM accounts_wallet WHERE workspace_id = %s
"""


class LedgerError(Exception):
    """The ledger refused a change; nothing was written."""


class InsufficientBalance(LedgerError):
    """The wallet would end below what server processes have drawn from it."""


class NoWallet(LedgerError):
    """The workspace has no wallet."""


class SourceReused(LedgerError):
    """The same source has already posted something else."""


class PurseOverdrawn(LedgerError):
    """A process reports more spending than its purse holds: its own counting is wrong."""


class Spend(NamedTuple):
    """What one key of one workspace has cost in one batch. charge_nusd is above 0."""

    workspace_id: uuid.UUID
    key_id: uuid.UUID
    charge_nusd: int
    calls: int


def open_wallet(workspace: Workspace) -> Wallet:
    """Return the workspace's wallet, made empty on first use."""
    wallet, _ = Wallet.objects.get_or_create(workspace=workspace)
    return wallet


def post(
    workspace_id: uuid.UUID,
    *,
    kind: LedgerEntry.Kind,
    amount_nusd: int,
    source: str,
    actor: str = "",
    reason: str = "",
    key_id: uuid.UUID | None = None,
    calls: int = 0,
    at: datetime,
) -> LedgerEntry:
    """Move money in or out of a wallet, once per source and kind: again is the same entry.

    amount_nusd is signed. Raises InsufficientBalance when the wallet would end below what is
    drawn, NoWallet, or SourceReused when the source has posted another amount or elsewhere.
    """
    posted = _find_posted(workspace_id, kind, amount_nusd, source)
    if posted is not None:
        return posted
    try:
        with transaction.atomic():
            wallet = _move(workspace_id, amount_nusd)
            return LedgerEntry.objects.create(
                wallet=wallet,
                sequence=wallet.sequence,
                kind=kind,
                amount_nusd=amount_nusd,
                balance_nusd=wallet.posted_nusd,
                source=source,
                key_id=key_id,
                calls=calls,
                actor=actor,
                reason=reason,
                created_at=at,
            )
    except IntegrityError:
        # Somebody posted the same between the look and the insert.
        posted = _find_posted(workspace_id, kind, amount_nusd, source)
        if posted is None:
            raise
        return posted


@transaction.atomic
def grant(
    workspace: Workspace,
    *,
    amount_nusd: int,
    actor: str,
    reason: str,
    kind: LedgerEntry.Kind = LedgerEntry.Kind.GRANT,
    source: str = "",
) -> LedgerEntry:
    """Add (or, negative, remove) credit on behalf of a person, and notify server processes.

    source: with kind, what makes it unique; given again, it is the first entry again and nothing
    is written. Without one every call of this is a grant of its own.
    Raises ValueError for an amount of 0 or a blank actor or reason, otherwise as post does.
    """
    if amount_nusd == 0:
        raise ValueError("The amount cannot be 0.")
    if not actor.strip() or not reason.strip():
        raise ValueError("Credit needs an actor and a reason.")
    source = source or f"{kind}:{new_id()}"
    posted = _find_posted(workspace.pk, kind, amount_nusd, source)
    if posted is not None:
        return posted
    entry = post(
        workspace.pk,
        kind=kind,
        amount_nusd=amount_nusd,
        source=source,
        actor=actor,
        reason=reason,
        at=timezone.now(),
    )
    ConfigChange.objects.create(kind=ConfigChange.Kind.WALLET, ref=workspace.pk.hex)
    AuditEvent.objects.create(
        workspace=workspace,
        actor=actor,
        action=f"credits.{kind}",
        target=f"wallet:{workspace.pk}",
        details={
            "amount_nusd": amount_nusd,
            "before_nusd": entry.balance_nusd - amount_nusd,
            "after_nusd": entry.balance_nusd,
            "entry": entry.sequence,
            "reason": reason,
        },
    )
    return entry


@transaction.atomic(savepoint=False)  # many in one transaction, and none fails by itself
def draw(
    workspace_id: uuid.UUID,
    process_id: uuid.UUID,
    *,
    want_nusd: int,
    least_nusd: int,
    just_read: Wallet | None = None,
) -> int:
    """Move money from the wallet into the process's purse; return how much, or 0.

    The result is between least_nusd and want_nusd, as much as the wallet has, or 0 when it has
    less than least_nusd or there is no wallet. just_read: the wallet, which is not read again then.
    """
    for _ in range(DRAW_TRIES):
        wallet, just_read = just_read or Wallet.objects.filter(pk=workspace_id).first(), None
        amount_nusd = min(want_nusd, wallet.posted_nusd - wallet.drawn_nusd) if wallet else 0
        if amount_nusd <= 0 or amount_nusd < least_nusd:
            return 0
        covered = Wallet.objects.filter(
            pk=workspace_id, posted_nusd__gte=F("drawn_nusd") + amount_nusd
        )
        if covered.update(drawn_nusd=F("drawn_nusd") + amount_nusd):
            _fill_purse(workspace_id, process_id, amount_nusd)
            return amount_nusd
    return 0


@transaction.atomic(savepoint=False)  # as above
def give_back(workspace_id: uuid.UUID, process_id: uuid.UUID, amount_nusd: int) -> None:
    """Return money from the process's purse to the wallet.

    Raises PurseOverdrawn when the purse holds less.
    """
    purse = Purse.objects.filter(
        wallet_id=workspace_id, process_id=process_id, amount_nusd__gte=amount_nusd
    )
    if not purse.update(amount_nusd=F("amount_nusd") - amount_nusd):
        raise PurseOverdrawn(f"{amount_nusd} nUSD to return to {workspace_id}")
    _undraw(workspace_id, amount_nusd)


def post_usage(
    process_id: uuid.UUID, spends: Sequence[Spend], *, source: str, at: datetime
) -> None:
    """Post what calls have cost: from the purses, for good. Runs inside the caller's transaction.

    source: what makes this batch unique; each entry adds its key. Wallets are taken in the order
    of their ids, so that two writers cannot wait for each other.
    Raises PurseOverdrawn when a purse holds less than was spent; nothing of it may be committed.
    """
    ordered = sorted(spends, key=lambda spend: (spend.workspace_id, spend.key_id))
    wallets: list[tuple[SqlValue, ...]] = []
    purses: list[tuple[SqlValue, ...]] = []
    entries: list[tuple[SqlValue, ...]] = []
    moment = connection.ops.adapt_datetimefield_value(at)
    process = stored_id(process_id)
    for workspace_id, group in groupby(ordered, key=lambda spend: spend.workspace_id):
        own = list(group)
        wallet = stored_id(workspace_id)
        total_nusd = sum(spend.charge_nusd for spend in own)
        wallets.append((total_nusd, total_nusd, len(own), wallet, total_nusd))
        purses.append((total_nusd, wallet, process, total_nusd))
        later_nusd = total_nusd
        for behind, spend in zip(range(len(own) - 1, -1, -1), own, strict=True):
            later_nusd -= spend.charge_nusd
            entry = f"{source}:{spend.key_id.hex}"
            amounts = (behind, -spend.charge_nusd, later_nusd)
            key = stored_id(spend.key_id)
            entries.append((*amounts, entry, key, spend.calls, moment, wallet))
    with connection.cursor() as cursor:
        cursor.executemany(SPEND_WALLET, wallets)
        if cursor.rowcount != len(wallets):
            raise PurseOverdrawn(f"{source}: a wallet has less drawn than was spent")
        cursor.executemany(SPEND_PURSE, purses)
        if cursor.rowcount != len(purses):
            raise PurseOverdrawn(f"{source}: a purse holds less than was spent")
        cursor.executemany(ENTER_USAGE, entries)


@transaction.atomic
def close_purses(process_id: uuid.UUID) -> int:
    """Return everything in a process's purses to their wallets; return how much that was."""
    purses = list(Purse.objects.filter(process_id=process_id).order_by("wallet_id"))
    for purse in purses:
        emptied = Purse.objects.filter(pk=purse.pk, amount_nusd=purse.amount_nusd)
        if not emptied.delete()[0]:
            raise LedgerError(f"purse {purse.pk} changed while it was being closed")
        _undraw(purse.wallet_id, purse.amount_nusd)
    return sum(purse.amount_nusd for purse in purses)


def purse_amounts(
    process_id: uuid.UUID, workspace_ids: Collection[uuid.UUID]
) -> dict[uuid.UUID, int]:
    """Return what the process's purses hold, per workspace; 0 where there is none."""
    found = Purse.objects.filter(process_id=process_id, wallet_id__in=workspace_ids)
    amounts = dict(found.values_list("wallet_id", "amount_nusd"))
    return {workspace_id: amounts.get(workspace_id, 0) for workspace_id in workspace_ids}


def _find_posted(
    workspace_id: uuid.UUID, kind: LedgerEntry.Kind, amount_nusd: int, source: str
) -> LedgerEntry | None:
    """Return what this source has posted, or None; raises SourceReused when it was otherwise."""
    posted = LedgerEntry.objects.filter(source=source, kind=kind).first()
    if posted and (posted.wallet_id, posted.amount_nusd) != (workspace_id, amount_nusd):
        raise SourceReused(f"{kind} {source} was already posted with other values.")
    return posted


def _move(workspace_id: uuid.UUID, amount_nusd: int) -> Wallet:
    """Add to a wallet and return it as it now is."""
    # The upper bound matters: SQLite turns a sum beyond 64 bits into a float.
    room = Wallet.objects.filter(
        pk=workspace_id,
        posted_nusd__gte=F("drawn_nusd") - amount_nusd,
        posted_nusd__lte=MAX_NUSD - max(amount_nusd, 0),
    )
    if not room.update(posted_nusd=F("posted_nusd") + amount_nusd, sequence=F("sequence") + 1):
        if not Wallet.objects.filter(pk=workspace_id).exists():
            raise NoWallet(str(workspace_id))
        raise InsufficientBalance(f"{amount_nusd} nUSD is out of range for the wallet.")
    return Wallet.objects.get(pk=workspace_id)


def _fill_purse(workspace_id: uuid.UUID, process_id: uuid.UUID, amount_nusd: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(FILL_PURSE, [stored_id(workspace_id), stored_id(process_id), amount_nusd])


def _undraw(workspace_id: uuid.UUID, amount_nusd: int) -> None:
    wallet = Wallet.objects.filter(pk=workspace_id, drawn_nusd__gte=amount_nusd)
    if not wallet.update(drawn_nusd=F("drawn_nusd") - amount_nusd):
        raise LedgerError(f"wallet {workspace_id} has less than {amount_nusd} nUSD drawn")
