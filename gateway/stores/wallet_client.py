"""The database's side of one process's purses: draws, returns, and what they really hold.

Every answer is a correction: by how much the purse in the database differs from what it should
hold by all we know. So a draw whose commit was lost on its way back is not lost: the next answer
includes it. Used by the writer's thread alone. Amounts are nano-USD.
"""

from __future__ import annotations

import uuid
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from django.db import transaction

from accounts import ledger
from accounts.models import ConfigChange, Wallet
from gateway.stores.drain import Fenced
from gateway.stores.process import renew_lease


class Draw(NamedTuple):
    """A request for money from a wallet."""

    workspace_id: str
    # Less than this is of no use.
    least_nusd: int
    # What calls are waiting for.
    need_nusd: int
    # What the purse takes beyond that, up to half of what the wallet has left.
    extra_nusd: int

    def exceeds(self, earlier: Draw) -> bool:
        """True when a wallet that could not meet the earlier request may still meet this one."""
        asked_for_nothing = earlier.need_nusd == 0 < self.need_nusd
        return asked_for_nothing or (self.need_nusd > 0 and self.least_nusd < earlier.least_nusd)


class GiveBack(NamedTuple):
    """Money that the purse in memory no longer has."""

    workspace_id: str
    amount_nusd: int
    # Another process is waiting for it.
    announce: bool


class Answer(NamedTuple):
    """The result of a draw."""

    asked: Draw
    # What the purse in memory has to add.
    gained_nusd: int
    # The wallet may have more.
    has_more: bool
    # What other processes' purses hold.
    elsewhere_nusd: int

    @property
    def workspace_id(self) -> str:
        return self.asked.workspace_id


class WalletClient:
    """Draws and gives back for one process."""

    def __init__(self, process_id: uuid.UUID) -> None:
        self._process_id = process_id
        self._expected: dict[str, int] = defaultdict(int)

    def serve(self, draws: list[Draw], returns: list[GiveBack]) -> list[Answer]:
        """Do all of it in one transaction, returns first; answer the draws.

        Raises Fenced when the process has been reaped, DatabaseError when it may or may not have
        happened: a return counts as made, a draw as not made, until a later answer says otherwise.
        """
        for request in returns:
            self._expected[request.workspace_id] -= request.amount_nusd
        with transaction.atomic():
            if not renew_lease(self._process_id):
                raise Fenced(str(self._process_id))
            for request in returns:
                self._give_back(request)
            outcomes = [(draw, *self._draw(draw)) for draw in draws]
            held = self._amounts([draw.workspace_id for draw in draws])
        answers = []
        for draw, has_more, drawn_nusd in outcomes:
            own_nusd = held[draw.workspace_id]
            gained_nusd = own_nusd - self._expected[draw.workspace_id]
            self._expected[draw.workspace_id] = own_nusd
            answers.append(Answer(draw, gained_nusd, has_more, drawn_nusd - own_nusd))
        return answers

    def spend(self, charges: Mapping[str, int]) -> None:
        """Take note of what a drained batch has taken out of the purses."""
        for workspace_id, charge_nusd in charges.items():
            self._expected[workspace_id] -= charge_nusd

    def call_back(self, workspace_id: str) -> None:
        """Ask the other processes to return what they do not need."""
        ConfigChange.objects.create(kind=ConfigChange.Kind.RECALL, ref=uuid.UUID(workspace_id).hex)

    def _give_back(self, request: GiveBack) -> None:
        workspace_id = uuid.UUID(request.workspace_id)
        ledger.give_back(workspace_id, self._process_id, request.amount_nusd)
        if request.announce:
            ConfigChange.objects.create(kind=ConfigChange.Kind.WALLET, ref=workspace_id.hex)

    def _draw(self, request: Draw) -> tuple[bool, int]:
        """Draw; return whether the wallet may have more, and what all purses hold."""
        workspace_id = uuid.UUID(request.workspace_id)
        wallet = Wallet.objects.filter(pk=workspace_id).first()
        if wallet is None:
            return False, 0
        left_nusd = wallet.posted_nusd - wallet.drawn_nusd
        wanted_nusd = request.need_nusd + request.extra_nusd
        want_nusd = max(request.need_nusd, min(wanted_nusd, left_nusd // 2))
        drawn_nusd = ledger.draw(
            workspace_id,
            self._process_id,
            want_nusd=want_nusd,
            least_nusd=request.least_nusd,
            just_read=wallet,
        )
        return drawn_nusd >= max(request.need_nusd, 1), wallet.drawn_nusd + drawn_nusd

    def _amounts(self, workspace_ids: list[str]) -> dict[str, int]:
        """Return what the purses hold now, by the text of the ids."""
        found = ledger.purse_amounts(self._process_id, [uuid.UUID(text) for text in workspace_ids])
        return {str(workspace_id): amount for workspace_id, amount in found.items()}
