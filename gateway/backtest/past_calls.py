"""Reads call records, the oldest first, as calls that can be made again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db.models import QuerySet

from gateway.admission.limit_rules import COST, NUSD_PER_MICRO_USD, Amounts
from gateway.backtest.replay import PastCall
from gateway.backtest.rule_set import RuleSet
from gateway.core.json_types import JsonObject
from gateway.core.money import PUSD_PER_NUSD, Usage
from gateway.core.receipt import Receipt
from gateway.models import CallRecord
from gateway.selectors.id_times import first_id_at, moment_of

RECORDS_PER_QUERY = 2_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# Checks of admission that are made by limit rules.
_BY_RULES = ("caps", "limits", "concurrency")
_FIELDS = (
    *("id", "workspace_id", "key_id", "created_at", "status", "charge_basis"),
    *("model", "requested_model", "fallback_from", "refusal", "counted_calls"),
    *("prompt_tokens", "completion_tokens", "hold_nusd", "charge_nusd", "pdf_pages"),
    *("pdf_page_nusd", "input_pusd_per_token", "output_pusd_per_token"),
    *("total_us", "admit_us", "queued_us"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which calls."""

    since: datetime
    until: datetime
    # None: of all.
    workspace_id: UUID | None = None
    key_id: UUID | None = None

    def records(self) -> QuerySet[CallRecord]:
        found = CallRecord.objects.filter(
            id__gte=first_id_at(self.since), id__lt=first_id_at(self.until)
        )
        if self.key_id is not None:
            found = found.filter(key_id=self.key_id)
        elif self.workspace_id is not None:
            found = found.filter(workspace_id=self.workspace_id)
        return found.only(*_FIELDS)

    def shortened(self, latest: int) -> Scope:
        """Return the part that has so many records, the newest."""
        newest = self.records().order_by("-id").values_list("id", flat=True)
        found = list(newest[latest - 1 : latest + 1])
        return replace(self, since=moment_of(found[0])) if len(found) > 1 else self

    def chunks(self) -> Iterator[list[CallRecord]]:
        """Yield some at a time, in the order of their ids. Each is one short query."""
        records = self.records().order_by("id")
        found = list(records[:RECORDS_PER_QUERY])
        while found:
            yield found
            found = list(records.filter(id__gt=found[-1].id)[:RECORDS_PER_QUERY])


def is_replayed(record: CallRecord) -> bool:
    """False for calls that were refused for something else than a rule: they would be again."""
    if record.status != CallRecord.Status.REFUSED:
        return True
    refusal = record.refusal or {}
    return refusal.get("step") in _BY_RULES and "rule_id" in refusal


def read_calls(records: list[CallRecord], rules: RuleSet) -> list[PastCall]:
    """Return them in the order of their times: ids are minted a moment before."""
    names = [(record.key_id, record.workspace_id) for record in records]
    keys = rules.load_keys(names)
    calls = []
    for record, name in zip(records, names, strict=True):
        model = record.fallback_from or record.model or record.requested_model
        is_refused = record.status == CallRecord.Status.REFUSED
        has_ended = not is_refused and record.status != CallRecord.Status.IN_PROGRESS
        used = _asked_by(record.refusal or {}) if is_refused else _used_by(record)
        # A record's time is that of its admission; processors are left in, some ran before it.
        before_us = record.admit_us + record.queued_us
        runs_us: int | None = max(record.total_us - before_us, 0)
        if not has_ended:
            runs_us = 0 if is_refused else None
        calls.append(
            PastCall(
                call_id=record.id,
                key=keys[name],
                model=model,
                rules=rules.of_model(model),
                at_us=micros(record.created_at),
                runs_us=runs_us,
                reserves=used if is_refused else _reserved_by(record),
                used=used,
                receipt=_receipt_of(record) if has_ended else None,
                times=record.counted_calls,
            )
        )
    calls.sort(key=lambda call: call.at_us)
    return calls


def micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def moment_at(at_us: int) -> datetime:
    return _EPOCH + at_us * _MICROSECOND


def _used_by(record: CallRecord) -> Amounts:
    return Amounts(1, record.prompt_tokens, record.completion_tokens, record.charge_nusd)


def _reserved_by(record: CallRecord) -> Amounts:
    """Return what the call reserved. Of its output: as much as its hold paid for."""
    completion_tokens = record.completion_tokens
    if record.output_pusd_per_token:
        prompt_pusd = record.prompt_tokens * record.input_pusd_per_token
        units = record.units or {}
        search_pusd = units["search"]["pusd"] if "search" in units else 0
        left_pusd = (record.hold_nusd - record.pdf_fee_nusd) * PUSD_PER_NUSD
        left_pusd -= prompt_pusd + search_pusd
        completion_tokens = max(completion_tokens, left_pusd // record.output_pusd_per_token)
    return Amounts(1, record.prompt_tokens, completion_tokens, record.hold_nusd)


def _asked_by(refusal: JsonObject) -> Amounts:
    """Return what a refused call asked for, as far as its refusal says it."""
    metric, requested = refusal["limit"]["metric"], int(refusal.get("requested") or 0)
    if metric == COST:
        return Amounts(1, 0, 0, requested * NUSD_PER_MICRO_USD)
    if metric == "prompt_tokens":
        return Amounts(1, requested, 0, 0)
    return Amounts(1, 0, requested if metric in ("tokens", "completion_tokens") else 0, 0)


def _receipt_of(record: CallRecord) -> Receipt:
    return Receipt(
        status=record.status,
        charge_basis=record.charge_basis,
        usage=Usage(record.prompt_tokens, record.completion_tokens),
        charge_nusd=record.charge_nusd,
    )
