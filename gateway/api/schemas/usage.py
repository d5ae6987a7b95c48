"""The usage report as the API shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from django.conf import settings
from msgspec import UNSET, Meta, Struct, UnsetType

from accounts.untyped import NamedRow
from gateway.core.money import credits_used, usd

NUMBERS = ("calls", "failed", "refused", "prompt_tokens", "completion_tokens", "charge_nusd")
Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]


class UsageGroup(Struct, kw_only=True):
    """One group of the report, or its total, which has no names."""

    model: str | UnsetType = UNSET
    key: str | UnsetType = UNSET
    day: str | UnsetType = UNSET
    member: str | UnsetType | None = UNSET
    calls: int
    failed: int
    refused: int
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    cost: Annotated[float, Meta(description="USD.")]
    cost_nano_usd: Annotated[str, Meta(pattern=r"^\d+$", description="Exact.")]
    credits_used: float


class UsageReport(Struct, kw_only=True):
    start: Moment
    end: Moment
    of: Annotated[
        Literal["key", "workspace"],
        Meta(description="Whose usage: this API key's, or all of the workspace."),
    ]
    group_by: list[str]
    groups: list[UsageGroup]
    total: UsageGroup


class UsageResponse(Struct):
    data: UsageReport


def write_group(group: NamedRow, by: Sequence[str]) -> UsageGroup:
    charge_nusd = group["charge_nusd"]
    return UsageGroup(
        **{name: group[name] for name in by},
        calls=group["calls"],
        failed=group["failed"],
        refused=group["refused"],
        prompt_tokens=group["prompt_tokens"],
        completion_tokens=group["completion_tokens"],
        total_tokens=group["prompt_tokens"] + group["completion_tokens"],
        cost=usd(charge_nusd),
        cost_nano_usd=str(charge_nusd),
        credits_used=credits_used(charge_nusd, whole=settings.CREDITS_INTEGER),
    )


def write_total(groups: Sequence[NamedRow]) -> UsageGroup:
    return write_group({name: sum(group[name] for group in groups) for name in NUMBERS}, ())
