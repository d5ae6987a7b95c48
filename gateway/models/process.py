"""Serving processes and the checks of the ledger."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class ServingProcess(models.Model):
    """A process that admits calls: its lease, and how far its journal has been drained.

    A process whose lease has run out, or whose pid is gone from this host, is dead: its
    journal is replayed and its purses are returned once (docs/adr/0009).
    """

    class State(models.TextChoices):
        ALIVE = "alive"
        STOPPED = "stopped"  # ended by itself, nothing left to do
        REAPED = "reaped"  # died; what it left behind was settled by another

    id = models.UUIDField(primary_key=True, editable=False)
    host = models.CharField(max_length=200)
    pid = models.PositiveIntegerField()
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

    class Meta:
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["state", "lease_until"], name="gateway_process_by_lease"),
        ]

    def __str__(self) -> str:
        return f"{self.host}:{self.pid} {self.state}"


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
