"""The call record: one row per call that a known key made."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import F, Q

# A call that was to be charged, and was not in full: what is absorbed is a loss of ours.
IS_LOSS = Q(absorbed_nusd__gt=0) & (Q(charge_basis="usage") | Q(charge_basis="estimate"))
# Served by another model than the one that was asked for, or by none.
IS_NOT_AS_ASKED = ~Q(requested_model=F("model"))
IS_NOT_OK = ~Q(status="ok")


class CallRecord(models.Model):
    """What happened to one call. Written in batches by the drain, never edited after its end.

    The id is the request id (UUIDv7), so ordering by id is ordering by time. References to
    workspaces, keys and processes are plain ids: a record outlives what it refers to.
    Durations are integer microseconds.
    """

    class Status(models.TextChoices):
        IN_PROGRESS = "in_progress"
        OK = "ok"
        PARTIAL = "partial"
        CANCELLED = "cancelled"
        UPSTREAM_ERROR = "upstream_error"
        PLATFORM_ABORTED = "platform_aborted"
        REFUSED = "refused"  # never admitted: nothing was held, nothing went upstream

    class ChargeBasis(models.TextChoices):
        NONE = ""  # in progress or refused
        USAGE = "usage"  # the provider's numbers
        ESTIMATE = "estimate"  # the provider gave no numbers
        ZERO_PLATFORM = "zero_platform"
        ZERO_UPSTREAM = "zero_upstream"
        ZERO_EMPTY = "zero_empty"

    id = models.UUIDField(primary_key=True, editable=False)
    workspace_id = models.UUIDField()
    key_id = models.UUIDField()
    process_id = models.UUIDField()
    created_at = models.DateTimeField()
    status = models.CharField(max_length=16, choices=Status.choices)
    http_status = models.PositiveSmallIntegerField(default=0)
    error_code = models.CharField(max_length=60, blank=True)
    charge_basis = models.CharField(max_length=16, choices=ChargeBasis.choices, blank=True)

    model = models.CharField(max_length=200, blank=True, help_text="Model that served it.")
    requested_model = models.CharField(max_length=256, blank=True)
    provider = models.CharField(max_length=60, blank=True)
    native_model = models.CharField(max_length=200, blank=True)
    streamed = models.BooleanField(default=False)
    endpoint = models.CharField(  # noqa: DJ001 (SQLite adds no other column without a copy)
        max_length=40,
        null=True,
        help_text="Its name. Empty in records of versions that had only chat completions.",
    )
    attempts = models.JSONField(default=list)
    finish_reason = models.CharField(max_length=32, blank=True)
    native_finish_reason = models.CharField(
        max_length=32, blank=True, help_text="As the provider names it."
    )
    user = models.CharField(max_length=256, blank=True)
    client_request_id = models.CharField(max_length=128, blank=True)
    ip = models.CharField(max_length=45, blank=True)
    profile = models.CharField(max_length=20, blank=True)
    episode_id = models.UUIDField(null=True, blank=True)
    dropped_params = models.JSONField(default=list)
    fallback_from = models.CharField(
        max_length=200, blank=True, help_text="Requested model, if a fallback model was tried."
    )
    fallback_depth = models.PositiveSmallIntegerField(
        default=0, help_text="Position of the last fallback model tried; 0: none."
    )

    prompt_tokens = models.BigIntegerField(default=0)
    completion_tokens = models.BigIntegerField(default=0)
    cached_tokens = models.BigIntegerField(default=0)
    reasoning_tokens = models.BigIntegerField(default=0)
    num_tool_calls = models.BigIntegerField(default=0)
    units = models.JSONField(
        null=True,
        help_text="Count and price of units without their own columns (gateway.core.units), "
        'as {"cache_write": {"count": 12, "pusd": 3750000}}.',
    )
    tool_uses = models.JSONField(
        null=True,
        help_text="Uses of tools other than pdf_pages: [{name, uses, nusd_each}].",
    )
    processors = models.JSONField(
        null=True,
        help_text="What processors did (gateway.core.receipt.ProcessorUse); empty: none ran.",
    )
    tool_runs = models.JSONField(
        null=True,
        help_text="Runs of server tools (gateway.core.receipt.ToolRun); empty: none.",
    )
    tools_us = models.BigIntegerField(
        default=0,
        db_default=0,
        help_text="Time in which server tools ran and no provider was asked.",
    )
    input_pusd_per_token = models.BigIntegerField(default=0)
    cached_input_pusd_per_token = models.BigIntegerField(default=0)
    output_pusd_per_token = models.BigIntegerField(default=0)
    pdf_pages = models.BigIntegerField(
        default=0, help_text="PDF pages that were converted to images."
    )
    pdf_page_nusd = models.BigIntegerField(default=0, help_text="Price of such a page.")
    hold_nusd = models.BigIntegerField(default=0)
    charge_nusd = models.BigIntegerField(default=0)
    absorbed_nusd = models.BigIntegerField(
        default=0, help_text="Price minus charge: cost absorbed by the installation."
    )

    total_us = models.BigIntegerField(default=0)
    admit_us = models.BigIntegerField(default=0)
    queued_us = models.BigIntegerField(default=0)
    failed_us = models.BigIntegerField(default=0, help_text="Time of failed attempts.")
    ttft_us = models.BigIntegerField(null=True, help_text="From the request to the first event.")
    upstream_us = models.BigIntegerField(default=0, help_text="Time of the attempt that served it.")

    refusal = models.JSONField(
        null=True,
        help_text="Of a refused call: the check that refused it, and its numbers "
        "(gateway.core.admission_steps).",
    )
    counted_calls = models.BigIntegerField(
        db_default=1, help_text="Number of refused calls in the row; 1 for other calls."
    )

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=Q(charge_nusd__gte=0) & Q(absorbed_nusd__gte=0),
                name="gateway_callrecord_charge_not_negative",
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["workspace_id", "id"], name="gateway_call_by_workspace"),
            models.Index(fields=["key_id", "id"], name="gateway_call_by_key"),
            models.Index(fields=["workspace_id", "model", "id"], name="gateway_call_by_model"),
            models.Index(
                fields=["workspace_id", "requested_model", "id"],
                name="gateway_call_not_as_asked",
                condition=IS_NOT_AS_ASKED,
            ),
            models.Index(
                fields=["workspace_id", "status", "id"],
                name="gateway_call_not_ok",
                condition=IS_NOT_OK,
            ),
            models.Index(
                fields=["workspace_id", "model", "id"],
                name="gateway_call_model_not_ok",
                condition=IS_NOT_OK,
            ),
            models.Index(
                fields=["workspace_id", "client_request_id", "id"],
                name="gateway_call_by_client_id",
                condition=~Q(client_request_id=""),
            ),
            models.Index(
                fields=["process_id"],
                name="gateway_call_running",
                condition=Q(status="in_progress"),
            ),
            models.Index(
                fields=["created_at", "key_id"],
                name="gateway_call_loss",
                condition=IS_LOSS,
            ),
        ]

    def __str__(self) -> str:
        return f"{self.id} {self.status}"

    @property
    def endpoint_name(self) -> str:
        """The endpoint that the call was made to."""
        return self.endpoint or "chat_completions"

    @property
    def processors_us(self) -> int:
        """What processors took."""
        return sum(use.get("us", 0) for use in self.processors or ())

    @property
    def pdf_fee_nusd(self) -> int:
        """What the pages of PDFs cost, charged or absorbed."""
        return self.pdf_pages * self.pdf_page_nusd

    @property
    def tool_costs_nusd(self) -> dict[str, int]:
        """The part of the price, charged or absorbed, that is not of units: by tool."""
        costs = {"pdf": self.pdf_fee_nusd} if self.pdf_fee_nusd else {}
        for use in self.tool_uses or ():
            cost_nusd = use["uses"] * use["nusd_each"]
            costs[use["name"]] = costs.get(use["name"], 0) + cost_nusd
        return costs


class CallBody(models.Model):
    """What was said, for workspaces that turned storing on. Loaded only by the detail page."""

    call_id = models.UUIDField(primary_key=True)
    workspace_id = models.UUIDField()
    created_at = models.DateTimeField()
    request = models.TextField(blank=True)
    response = models.TextField(blank=True)

    class Meta:
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["created_at"], name="gateway_body_by_age"),
        ]

    def __str__(self) -> str:
        return f"body of {self.call_id}"
