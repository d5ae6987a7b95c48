"""Where a proof of the recent part of the ledger begins: what was proved of the part before it."""

from __future__ import annotations

from django.db import models


class ProofMark(models.Model):
    """One row while the ledger is known to add up, none after it was found that it does not.

    The rows of ProvenWallet and ProvenKey belong to it: all three are of the same moment.
    """

    since = models.DateTimeField(
        help_text="Start of a quarter of an hour; later calls are included."
    )
    marked_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"since {self.since:%Y-%m-%d %H:%M}"


class ProvenWallet(models.Model):
    """What a wallet had come to: its balance, and the number of its newest entry."""

    workspace_id = models.UUIDField(primary_key=True)
    posted_nusd = models.BigIntegerField()
    sequence = models.BigIntegerField()

    def __str__(self) -> str:
        return f"wallet of {self.workspace_id} up to {self.sequence}"


class ProvenKey(models.Model):
    """What the calls of a key since the mark's quarter had been charged by then.

    The ledger's entries up to the mark have these charges in them; the calls are counted again.
    """

    workspace_id = models.UUIDField()
    key_id = models.UUIDField()
    charge_nusd = models.BigIntegerField()
    calls = models.BigIntegerField(help_text="Calls with a charge.")

    def __str__(self) -> str:
        return f"key {self.key_id}: {self.charge_nusd} nUSD"


class ProofProgress(models.Model):
    """One row while a proof of all rows is under way. Deleted with the verdict.

    state: how far it has come (gateway.services.stepwise_proof.ProofState).
    """

    started_at = models.DateTimeField()
    state = models.JSONField()

    def __str__(self) -> str:
        return f"since {self.started_at:%Y-%m-%d %H:%M}"
