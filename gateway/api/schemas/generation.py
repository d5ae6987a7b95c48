"""The record of one call as the API shows it (gateway contract, section 7.7)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from django.conf import settings
from msgspec import Meta, Struct

from gateway.core.durations import gateway_us
from gateway.core.json_types import JsonObject
from gateway.core.money import credits_used, usd, write_micro_usd
from gateway.endpoints.registry import ENDPOINTS
from gateway.models import CallRecord

Status = Literal["ok", "error", "aborted", "in_progress"]
# The contract's words for a call's state; "error" for every other.
STATUS: dict[CallRecord.Status, Status] = {
    CallRecord.Status.IN_PROGRESS: "in_progress",
    CallRecord.Status.OK: "ok",
    CallRecord.Status.PARTIAL: "ok",
    CallRecord.Status.CANCELLED: "aborted",
}


class GenerationTimings(Struct, kw_only=True):
    total_ms: float
    admit_ms: float
    queued_ms: float
    processors_ms: float
    tools_ms: float
    failed_ms: float
    upstream_ms: float
    gateway_ms: float


class ProcessorRun(Struct, kw_only=True):
    name: str
    status: str
    duration_ms: float
    details: JsonObject


class PluginRun(Struct, kw_only=True):
    plugin: str
    function: Annotated[str, Meta(description="As the model named it, without hi_.")]
    round: Annotated[int, Meta(description="1 is the first request to the model.")]
    status: Annotated[str, Meta(description="ok, failed, timeout, refused, cancelled or withheld.")]
    duration_ms: float
    cost_micro_usd: Annotated[str, Meta(description="Exact.")]
    arguments: Annotated[list[str], Meta(description="Names of the arguments.")]


class Generation(Struct, kw_only=True):
    """The record of one call. Fields that no call has here, such as function_name, are null."""

    id: str
    model: str
    ingress_format: Annotated[
        str,
        Meta(
            description="The endpoint of the call.",
            extra_json_schema={"enum": sorted(one.name for one in ENDPOINTS)},
        ),
    ]
    source: Literal["api"]
    tokens_prompt: int
    tokens_completion: int
    tokens_reasoning: int
    tokens_cached_prompt: int
    other_units: Annotated[
        dict[str, int],
        Meta(
            description="Counts of other units, by name. cache_write: prompt tokens written to the"
            " provider's cache, but for those that it keeps for an hour: cache_write_1h."
        ),
    ]
    total_cost: Annotated[float, Meta(description="USD.")]
    cost_micro_usd: Annotated[str, Meta(description="Exact.")]
    cost_nano_usd: Annotated[str, Meta(description="Exact.")]
    tool_costs_micro_usd: Annotated[
        dict[str, str],
        Meta(description="The part of the cost that is for tools. pdf: PDF pages as images, too."),
    ]
    latency_ms: int
    status: Status
    error_code: str | None
    created_at: datetime
    charge_basis: str | None
    state: str
    provider_name: str | None
    native_model: str | None
    streamed: bool
    finish_reason: str | None
    native_finish_reason: str | None
    num_tool_calls: int
    ttft_ms: Annotated[int | None, Meta(description="Time to first token.")]
    generation_time_ms: int
    queued_ms: int
    processors_ms: int
    processors: Annotated[
        list[ProcessorRun],
        Meta(description="What each processor did: its verdict, counts, types and time."),
    ]
    tool_runs: Annotated[
        list[PluginRun], Meta(description="Runs of plugins, in the order in which they ended.")
    ]
    credits_used: float
    absorbed_cost: Annotated[float, Meta(description="USD that was not charged.")]
    fallback_from: str | None
    fallback_depth: int
    attempts: list[JsonObject]
    function_name: str | None
    variant_name: str | None
    user: str | None
    api_key_id: UUID
    client_request_id: str | None
    usage_estimated: bool
    episode_id: UUID | None
    compat_profile: str | None
    dropped_params: list[str]
    timings: GenerationTimings


class GenerationResponse(Struct):
    data: Generation


def write_generation(record: CallRecord, shown_id: str = "") -> Generation:
    """shown_id: the ID by which the client knows the call, where that is not ours."""
    return Generation(
        id=shown_id or str(record.pk),
        model=record.model or record.requested_model,
        ingress_format=record.endpoint_name,
        source="api",
        tokens_prompt=record.prompt_tokens,
        tokens_completion=record.completion_tokens,
        tokens_reasoning=record.reasoning_tokens,
        tokens_cached_prompt=record.cached_tokens,
        other_units={name: one["count"] for name, one in sorted((record.units or {}).items())},
        total_cost=usd(record.charge_nusd),
        cost_micro_usd=write_micro_usd(record.charge_nusd),
        cost_nano_usd=str(record.charge_nusd),
        tool_costs_micro_usd=write_tool_costs(record),
        latency_ms=round(record.total_us / 1000),
        status=STATUS.get(CallRecord.Status(record.status), "error"),
        error_code=record.error_code or None,
        created_at=record.created_at,
        charge_basis=record.charge_basis or None,
        state=record.status,
        provider_name=record.provider or None,
        native_model=record.native_model or None,
        streamed=record.streamed,
        finish_reason=record.finish_reason or None,
        native_finish_reason=record.native_finish_reason or None,
        num_tool_calls=record.num_tool_calls,
        ttft_ms=None if record.ttft_us is None else round(record.ttft_us / 1000),
        generation_time_ms=round(record.upstream_us / 1000),
        queued_ms=round(record.queued_us / 1000),
        processors_ms=round(record.processors_us / 1000),
        processors=write_processors(record.processors),
        tool_runs=write_tool_runs(record.tool_runs),
        credits_used=credits_used(record.charge_nusd, whole=settings.CREDITS_INTEGER),
        absorbed_cost=usd(record.absorbed_nusd),
        fallback_from=record.fallback_from or None,
        fallback_depth=record.fallback_depth,
        attempts=record.attempts,
        function_name=None,
        variant_name=None,
        user=record.user or None,
        api_key_id=record.key_id,
        client_request_id=record.client_request_id or None,
        usage_estimated=record.charge_basis == CallRecord.ChargeBasis.ESTIMATE,
        episode_id=record.episode_id,
        compat_profile=record.profile or None,
        dropped_params=record.dropped_params,
        timings=write_timings(record),
    )


def write_processors(uses: Sequence[JsonObject] | None) -> list[ProcessorRun]:
    return [
        ProcessorRun(
            name=use["name"],
            status=use["status"],
            duration_ms=use.get("us", 0) / 1000,
            details=use.get("details", {}),
        )
        for use in uses or ()
    ]


def write_tool_runs(runs: Sequence[JsonObject] | None) -> list[PluginRun]:
    return [
        PluginRun(
            plugin=run["plugin"],
            function=run.get("function") or run["plugin"],
            round=run["round"],
            status=run["status"],
            duration_ms=run.get("us", 0) / 1000,
            cost_micro_usd=write_micro_usd(run.get("nusd", 0)),
            arguments=run.get("arguments", []),
        )
        for run in runs or ()
    ]


def write_timings(record: CallRecord) -> GenerationTimings:
    return GenerationTimings(
        total_ms=record.total_us / 1000,
        admit_ms=record.admit_us / 1000,
        queued_ms=record.queued_us / 1000,
        processors_ms=record.processors_us / 1000,
        tools_ms=record.tools_us / 1000,
        failed_ms=record.failed_us / 1000,
        upstream_ms=record.upstream_us / 1000,
        gateway_ms=gateway_us(record) / 1000,
    )


def write_tool_costs(record: CallRecord) -> dict[str, str]:
    """Return the part of the charge that is for tools, in micro-USD, exact."""
    left_nusd = record.charge_nusd
    charged: dict[str, str] = {}
    for name, cost_nusd in record.tool_costs_nusd.items():
        if part_nusd := min(cost_nusd, left_nusd):
            charged[name] = write_micro_usd(part_nusd)
            left_nusd -= part_nusd
    return charged
