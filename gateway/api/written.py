"""Models and records as the API writes them (gateway contract, sections 7.7 and 7.8)."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from gateway.core.durations import gateway_us
from gateway.core.money import PUSD_PER_TOKEN_PER_USD_PER_MTOK, Price, credits_used, usd
from gateway.models import CallRecord
from gateway.snapshot.types import ModelRecord

NUSD_PER_MICRO_USD = 1_000
# The contract's four words for a call's state.
STATUS = {
    CallRecord.Status.IN_PROGRESS: "in_progress",
    CallRecord.Status.OK: "ok",
    CallRecord.Status.PARTIAL: "ok",
    CallRecord.Status.CANCELLED: "aborted",
}


def write_model(model: ModelRecord) -> dict[str, Any]:
    return {
        "id": model.name,
        "object": "model",
        "created": model.created,
        "owned_by": model.owned_by or "tollhouse",
        "display_name": model.display_name,
        "description": model.description,
        "context_length": model.context_tokens,
        "max_output_tokens": model.max_output_tokens,
        "pricing": write_pricing(model.price),
        "supportsVision": model.can("vision"),
        "supportsPdf": model.can("pdf"),
        "supportsTools": model.can("tools"),
        "supportsAudio": model.can("audio"),
        "supported_features": write_features(model),
        "datacenter_locations": sorted({t.location for t in model.targets if t.location}),
        "is_local": bool(model.targets) and all(t.is_local for t in model.targets),
    }


def write_features(model: ModelRecord) -> list[str]:
    """Return what may be asked of the model; guided decoding only where every target has it."""
    features = ["streaming", "json_schema"]
    features += [name for name in ("tools", "vision", "pdf", "audio") if model.can(name)]
    if model.targets and all(target.kind == "vllm" for target in model.targets):
        features.append("guided_decoding")
    return sorted(features)


def write_pricing(price: Price) -> dict[str, Any]:
    """USD per million tokens as JSON numbers."""
    return {
        "prompt": price.input_pusd / PUSD_PER_TOKEN_PER_USD_PER_MTOK,
        "completion": price.output_pusd / PUSD_PER_TOKEN_PER_USD_PER_MTOK,
        "cached_prompt": price.cached_input_pusd / PUSD_PER_TOKEN_PER_USD_PER_MTOK,
        "unit": "per_million_tokens",
    }


def write_generation(record: CallRecord, shown_id: str = "") -> dict[str, Any]:
    """Members of what no call here has, such as a function, are there and say so.

    shown_id: the id by which its caller knows the call, where that is not ours.
    """
    return {
        "id": shown_id or str(record.pk),
        "model": record.model or record.requested_model,
        "ingress_format": "chat_completions",
        "source": "api",
        "tokens_prompt": record.prompt_tokens,
        "tokens_completion": record.completion_tokens,
        "tokens_reasoning": record.reasoning_tokens,
        "tokens_cached_prompt": record.cached_tokens,
        "total_cost": usd(record.charge_nusd),
        "cost_micro_usd": write_micro_usd(record.charge_nusd),
        "cost_nano_usd": str(record.charge_nusd),
        "tool_costs_micro_usd": write_tool_costs(record),
        "latency_ms": round(record.total_us / 1000),
        "status": STATUS.get(CallRecord.Status(record.status), "error"),
        "error_code": record.error_code or None,
        "created_at": record.created_at.isoformat().replace("+00:00", "Z"),
        "charge_basis": record.charge_basis or None,
        "state": record.status,
        "provider_name": record.provider or None,
        "native_model": record.native_model or None,
        "streamed": record.streamed,
        "finish_reason": record.finish_reason or None,
        "native_finish_reason": record.native_finish_reason or None,
        "num_tool_calls": record.num_tool_calls,
        "ttft_ms": None if record.ttft_us is None else round(record.ttft_us / 1000),
        "generation_time_ms": round(record.upstream_us / 1000),
        "queued_ms": round(record.queued_us / 1000),
        "processors_ms": 0,
        "credits_used": credits_used(record.charge_nusd, whole=settings.CREDITS_INTEGER),
        "absorbed_cost": usd(record.absorbed_nusd),
        "fallback_from": record.fallback_from or None,
        "fallback_depth": record.fallback_depth,
        "attempts": record.attempts,
        "function_name": None,
        "variant_name": None,
        "user": record.user or None,
        "api_key_id": str(record.key_id),
        "client_request_id": record.client_request_id or None,
        "usage_estimated": record.charge_basis == CallRecord.ChargeBasis.ESTIMATE,
        "episode_id": str(record.episode_id) if record.episode_id else None,
        "compat_profile": record.profile or None,
        "dropped_params": record.dropped_params,
        "timings": {
            "total_ms": record.total_us / 1000,
            "admit_ms": record.admit_us / 1000,
            "queued_ms": record.queued_us / 1000,
            "failed_ms": record.failed_us / 1000,
            "upstream_ms": record.upstream_us / 1000,
            "gateway_ms": gateway_us(record) / 1000,
        },
    }


def write_tool_costs(record: CallRecord) -> dict[str, str]:
    """Return what of the charge is not for tokens, in micro-USD, exact."""
    charged_nusd = min(record.pdf_fee_nusd, record.charge_nusd)
    return {"pdf": write_micro_usd(charged_nusd)} if charged_nusd else {}


def write_micro_usd(nusd: int) -> str:
    """Return micro-USD as a decimal string, exact."""
    whole, rest = divmod(nusd, NUSD_PER_MICRO_USD)
    return f"{whole}.{rest:03d}".rstrip("0").rstrip(".") if rest else str(whole)
