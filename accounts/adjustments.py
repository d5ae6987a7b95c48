"""Adjust a balance: call idle money back from server processes where that is needed."""

from __future__ import annotations

import time

from accounts.ledger import InsufficientBalance, grant
from accounts.models import ConfigChange, LedgerEntry, Wallet, Workspace

# Processes hear of a recall within 250 ms and return what is idle at once.
RECALL_S = 1.0
LOOK_S = 0.05


def adjust(
    workspace: Workspace, *, amount_nusd: int, actor: str, reason: str, source: str = ""
) -> LedgerEntry:
    """Do what accounts.ledger.grant does, as an adjustment; call idle money back where that helps.

    amount_nusd is signed. May wait for RECALL_S. Raises InsufficientBalance when the balance, less
    what running calls hold, does not cover the amount; otherwise as grant does.
    """
    deadline_s = None
    while True:
        try:
            return grant(
                workspace,
                amount_nusd=amount_nusd,
                actor=actor,
                reason=reason,
                kind=LedgerEntry.Kind.ADJUSTMENT,
                source=source,
            )
        except InsufficientBalance:
            if deadline_s is None:
                if not _may_be_idle(workspace, -amount_nusd):
                    raise
                deadline_s = time.monotonic() + RECALL_S
                ConfigChange.objects.create(kind=ConfigChange.Kind.RECALL, ref=workspace.pk.hex)
            elif time.monotonic() > deadline_s:
                raise
        time.sleep(LOOK_S)


def _may_be_idle(workspace: Workspace, amount_nusd: int) -> bool:
    """True when the amount is there, but server processes have drawn a part of it."""
    return Wallet.objects.filter(
        pk=workspace.pk, posted_nusd__gte=amount_nusd, drawn_nusd__gt=0
    ).exists()
