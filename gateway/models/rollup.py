"""Totals that pages read instead of the call table. Only ever added to.

The drain writes those of each quarter of an hour. A job in the background adds them up to totals of
longer spans (gateway.services.rolling_up), up to the mark that it has reached.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class UsageSums(models.Model):
    """What the calls of one group add up to."""

    workspace_id = models.UUIDField()
    model = models.CharField(max_length=200)
    status = models.CharField(max_length=16)
    calls = models.BigIntegerField()
    prompt_tokens = models.BigIntegerField()
    completion_tokens = models.BigIntegerField()
    charge_nusd = models.BigIntegerField()
    absorbed_nusd = models.BigIntegerField()

    class Meta:
        abstract = True


class UsageRollup(UsageSums):
    """Totals of finished calls per quarter of an hour, workspace, key, model and status."""

    starts_at = models.DateTimeField(help_text="Start of the quarter of an hour, UTC.")
    key_id = models.UUIDField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["workspace_id", "starts_at", "key_id", "model", "status"],
                name="gateway_usagerollup_one_row_per_group",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            # What a key has spent ever is asked for once by each process that counts it.
            models.Index(fields=["key_id", "starts_at"], name="gateway_usagerollup_by_key"),
            # Which workspaces and keys were busy at a time, however many there are.
            models.Index(fields=["starts_at", "workspace_id"], name="gateway_usagerollup_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.starts_at:%Y-%m-%d %H:%M} {self.model} {self.calls}"


class LatencyRollup(models.Model):
    """How many `ok` calls of a quarter of an hour fell into each bucket of a duration.

    bucket: gateway.core.latency_histogram, a logarithmic scale over microseconds.
    """

    class Measure(models.TextChoices):
        TOTAL = "total"  # the whole call
        ADDED = "added"  # the call less the time of its providers: what we added
        TTFT = "ttft"  # request to first upstream event, streamed calls

    starts_at = models.DateTimeField(help_text="Start of the quarter of an hour, UTC.")
    workspace_id = models.UUIDField()
    model = models.CharField(max_length=200)
    measure = models.CharField(max_length=8, choices=Measure.choices)
    bucket = models.SmallIntegerField()
    calls = models.BigIntegerField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["workspace_id", "starts_at", "model", "measure", "bucket"],
                name="gateway_latencyrollup_one_row_per_group",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.starts_at:%Y-%m-%d %H:%M} {self.measure} {self.bucket}"


class RollupMark(models.Model):
    """One row: up to where the totals of longer spans are complete, a full hour.

    Who adds to a quarter of an hour before it adds to the longer spans in the same transaction.
    """

    until = models.DateTimeField()

    def __str__(self) -> str:
        return f"up to {self.until:%Y-%m-%d %H:%M}"


class SpanUsage(UsageSums):
    """Totals of a span of time."""

    span_s = models.PositiveIntegerField()
    starts_at = models.DateTimeField()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.starts_at:%Y-%m-%d %H:%M} for {self.span_s} s: {self.model} {self.calls}"


class KeyUsage(SpanUsage):
    """Totals per hour and per day (span_s), workspace, key, model and status."""

    key_id = models.UUIDField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["workspace_id", "span_s", "starts_at", "key_id", "model", "status"],
                name="gateway_keyusage_one_row_per_group",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["key_id", "span_s", "starts_at"], name="gateway_keyusage_by_key"),
        ]


class WorkspaceUsage(SpanUsage):
    """Totals of all keys of a workspace per quarter of an hour, hour and day (span_s)."""

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["workspace_id", "span_s", "starts_at", "model", "status"],
                name="gateway_workspaceusage_one_row_per_group",
            ),
        ]


class WorkspaceLatency(models.Model):
    """Durations as in LatencyRollup, of all models, per quarter of an hour, hour and day."""

    span_s = models.PositiveIntegerField()
    starts_at = models.DateTimeField()
    workspace_id = models.UUIDField()
    measure = models.CharField(max_length=8, choices=LatencyRollup.Measure.choices)
    bucket = models.SmallIntegerField()
    calls = models.BigIntegerField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["workspace_id", "span_s", "starts_at", "measure", "bucket"],
                name="gateway_workspacelatency_one_row_per_group",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.starts_at:%Y-%m-%d %H:%M} {self.measure} {self.bucket}"


class ErrorSums(models.Model):
    """What the failed calls (usage.FAILED_STATUSES) of one group add up to, and when the first and
    the last of them began. provider: "" where the call reached none."""

    workspace_id = models.UUIDField()
    starts_at = models.DateTimeField()
    provider = models.CharField(max_length=60, blank=True)
    status = models.CharField(max_length=16)
    error_code = models.CharField(max_length=60, blank=True)
    calls = models.BigIntegerField()
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self.starts_at:%Y-%m-%d %H:%M} {self.provider} {self.error_code} {self.calls}"


class KeyErrors(ErrorSums):
    """Failed calls of a key per quarter of an hour, provider, status and error code."""

    key_id = models.UUIDField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=[
                    *("workspace_id", "key_id", "starts_at"),
                    *("provider", "status", "error_code"),
                ],
                name="gateway_keyerrors_one_row_per_group",
            ),
        ]


class WorkspaceErrors(ErrorSums):
    """The same of all keys of a workspace, per quarter of an hour, hour and day (span_s).

    The drain writes all three: few calls fail.
    """

    span_s = models.PositiveIntegerField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=[
                    *("workspace_id", "span_s", "starts_at"),
                    *("provider", "status", "error_code"),
                ],
                name="gateway_workspaceerrors_one_row_per_group",
            ),
        ]


class ErrorMark(models.Model):
    """One row while errors of older calls are still being added up: those from `since` on are
    complete, a full hour. No row: all of them are (gateway.services.error_backfill)."""

    since = models.DateTimeField()

    def __str__(self) -> str:
        return f"from {self.since:%Y-%m-%d %H:%M} on"
