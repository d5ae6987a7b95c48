"""Server processes and the checks of the ledger."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models.functions import Now


class ServingProcess(models.Model):
    """A process that admits calls: its lease, and how far its journal has been drained.

    A process whose lease has run out, or whose lock is free on this host, is dead: its journal is
    replayed and its purses are returned once (docs/adr/0009). Until then it stays alive here, its
    calls open and its purses reserved: also where only another host has the journal
    (docs/adr/0059).
    """

    class State(models.TextChoices):
        ALIVE = "alive"
        STOPPED = "stopped"  # ended by itself, nothing left to do
        REAPED = "reaped"  # died; its journal was replayed where it was
        ADOPTED = "adopted"  # died; its journal was replayed from a folder that an operator named
        LOST = "lost"  # died; an operator declared that its journal is lost

    id = models.UUIDField(primary_key=True, editable=False)
    host = models.CharField(max_length=200)
    pid = models.PositiveIntegerField()
    home = models.CharField(max_length=400, blank=True, help_text="The home's path on its host.")
    state = models.CharField(max_length=8, choices=State.choices, default=State.ALIVE)
    started_at = models.DateTimeField()
    heartbeat_at = models.DateTimeField()
    lease_until = models.DateTimeField()
    journal_path = models.CharField(max_length=400, help_text="Relative to the home.")
    drained_segment = models.BigIntegerField(default=0)
    drained_offset = models.BigIntegerField(default=0)
    counts_alone = models.BooleanField(
        default=False, help_text="It counts limits in its own memory: no other process may serve."
    )
    overtaken = models.BooleanField(
        default=False,
        help_text="Its lease ran out, and another process serves that it may not serve beside.",
    )
    ended_at = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["state", "lease_until"], name="gateway_process_by_lease"),
        ]

    def __str__(self) -> str:
        return f"{self.host}:{self.pid} {self.state}"

    @classmethod
    def silent(cls) -> models.QuerySet[ServingProcess]:
        """Return those that have not ended and whose lease is over, by the database's clock."""
        return cls.objects.filter(state=cls.State.ALIVE, lease_until__lt=Now())


class Lease(models.Model):
    """Who does what only one program of all hosts should do. By the database's clock."""

    name = models.CharField(max_length=40, primary_key=True)
    owner = models.CharField(max_length=500, help_text="Host and home.")
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name}: {self.owner}"


class SealingKey(models.Model):
    """A sealing key that this database's secrets are encrypted with: how to tell it from others.

    The key cannot be found from it.
    """

    check_value = models.CharField(max_length=64, primary_key=True)
    added_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.check_value


class JournalFault(models.Model):
    """Something of a process's journal that is not in the ledger as it should be, kept for people.

    Its bytes are in the installation's folder `quarantine`, where they could be saved.
    """

    class Kind(models.TextChoices):
        DAMAGED = "damaged"  # a part that cannot be read
        MISSING = "missing"  # the journal, or the end of it, is gone
        UNPOSTED = "unposted"  # a record that the database refuses
        UNCHARGED = "uncharged"  # a record that was posted without its charge
        LOST = "lost"  # the journal was declared lost
        LATE = "late"  # the journal came back after it was adopted or declared lost, with more

    kind = models.CharField(max_length=10, choices=Kind.choices)
    process_id = models.UUIDField()
    call_id = models.CharField(max_length=64, blank=True)
    segment = models.BigIntegerField(null=True)
    start_byte = models.BigIntegerField(null=True)
    end_byte = models.BigIntegerField(null=True)
    records = models.PositiveIntegerField(
        help_text="Number of records; a minimum if they are damaged."
    )
    reason = models.CharField(max_length=500)
    file = models.CharField(max_length=200, blank=True, help_text="Relative to the home.")
    found_at = models.DateTimeField()

    class Meta:
        ordering: ClassVar[list[str]] = ["id"]

    def __str__(self) -> str:
        return f"{self.kind}: {self.records} of process {self.process_id}"


class JournalLoss(models.Model):
    """A journal that an operator declared lost: what its calls have cost at most, which we absorb.

    Amounts are nano-USD, as they were when it was declared. The last three are known if the journal
    came back later: what it had that was not posted, and what these calls cost.
    """

    process_id = models.UUIDField(primary_key=True, editable=False)
    host = models.CharField(max_length=200)
    home = models.CharField(max_length=400, blank=True)
    declared_at = models.DateTimeField()
    declared_by = models.CharField(max_length=254)
    open_calls = models.PositiveIntegerField()
    held_nusd = models.BigIntegerField(help_text="By the open calls.")
    reserved_nusd = models.BigIntegerField(
        help_text="In its purses: no calls of its own can have been charged more."
    )
    returned_at = models.DateTimeField(null=True)
    late_records = models.PositiveIntegerField(null=True)
    late_cost_nusd = models.BigIntegerField(null=True)

    def __str__(self) -> str:
        return f"journal of {self.process_id}: at most {self.reserved_nusd} nUSD"


class LedgerCheck(models.Model):
    """One run of `prove`: when, over how much, and what was wrong.

    entries, calls: how many of them were looked at.
    """

    checked_at = models.DateTimeField()
    since = models.DateTimeField(
        null=True, help_text="Start of the rows that were verified; null: all rows."
    )
    duration_ms = models.PositiveIntegerField()
    entries = models.BigIntegerField()
    calls = models.BigIntegerField()
    breaks = models.JSONField(default=list)

    class Meta:
        ordering: ClassVar[list[str]] = ["-id"]

    def __str__(self) -> str:
        return f"{self.checked_at:%Y-%m-%d %H:%M:%S}: {len(self.breaks)} breaks"
