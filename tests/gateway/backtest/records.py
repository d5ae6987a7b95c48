"""Call records of tests, without calls."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any
from uuid import UUID, uuid4

from gateway.models import CallRecord
from gateway.selectors.id_times import first_id_at
from keys.models import ApiKey

# What a token of output costs in these records, and one of the prompt.
OUTPUT_PUSD, INPUT_PUSD = 2_000, 1_000
_numbers = count(1)


def moment(us: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=us)


def make_record(key: ApiKey, at: datetime, **fields: Any) -> CallRecord:
    """Return the unsaved record of a call that took a second, unless `fields` say more."""
    values = {
        "id": UUID(int=first_id_at(at).int + (7 << 76) + next(_numbers)),
        "workspace_id": key.workspace_id,
        "key_id": key.pk,
        "process_id": uuid4(),
        "created_at": at,
        "status": "ok",
        "charge_basis": "usage",
        "http_status": 200,
        "model": "fake-model",
        "requested_model": "fake-model",
        "total_us": 1_000_000,
        "input_pusd_per_token": INPUT_PUSD,
        "output_pusd_per_token": OUTPUT_PUSD,
    }
    return CallRecord(**{**values, **fields})


def refused_record(
    key: ApiKey, at: datetime, step: str = "limits", metric: str = "requests", requested: int = 1
) -> CallRecord:
    """Return the unsaved record of a call that a rule refused."""
    refusal = {"step": step, "limit": {"metric": metric}, "requested": requested, "rule_id": "x"}
    return make_record(
        key, at, status="refused", charge_basis="", http_status=429, total_us=100, refusal=refusal
    )
