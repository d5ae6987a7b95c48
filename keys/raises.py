"""Budgets raised for a while: more may be spent of a period until a moment, and nothing has to be
done at its end.

Raises are kept in the row of the key, the member or the workspace; the audit log keeps those that
are over. Every function raises ValidationError with an entry for each field that cannot be taken,
and NotAllowed where the person who asks may not do it: nobody lifts a limit that binds them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta

import msgspec
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.all_errors import raising_all
from accounts.budgets import REFUSED, may_limit, record_budget
from accounts.changes import record_audit, record_changes
from accounts.ids import new_id
from accounts.models import BudgetHolder, ConfigChange, Membership, User, Workspace
from accounts.permissions import Action, NotAllowed, may
from gateway.core.money import MAX_NUSD
from keys.models import ApiKey

Holder = Workspace | Membership | ApiKey

# The budget of each period.
FIELDS = {
    "day": "daily_limit_nusd",
    "week": "weekly_limit_nusd",
    "month": "monthly_limit_nusd",
    "total": "total_limit_nusd",
}
MAX_RAISES = 20
MAX_TIME = timedelta(days=366)


class Raise(msgspec.Struct, frozen=True, kw_only=True):
    """So much more of a period (a name in FIELDS) until then. by: the actor of the audit log."""

    id: str
    period: str
    amount_nusd: int
    until: datetime
    by: str
    at: datetime


def raises_of(holder: BudgetHolder) -> list[Raise]:
    """Return the raises that are in force, those that end first at the beginning."""
    rows: object = holder.budget_raises
    if isinstance(rows, str):  # as SQLite has it within other JSON
        rows = json.loads(rows)
    now = timezone.now()
    found = [one for one in msgspec.convert(rows, list[Raise]) if one.until > now]
    return sorted(found, key=lambda one: one.until)


def may_raise(person: User, holder: Holder) -> bool:
    """True when this person may raise the budgets: who may change them may."""
    if isinstance(holder, ApiKey):
        return holder.revoked_at is None and may(person, Action.MANAGE_KEYS, holder.workspace)
    return may_limit(person, holder)


def raise_budget(
    holder: Holder,
    *,
    period: str,
    amount_nusd: int | None,
    until: datetime | None,
    actor: str,
    asked_by: User | None = None,
) -> Raise:
    """Let so much more be spent of a period until then, and return what was written down."""
    _refuse(holder, asked_by)
    with _locked(holder) as stored:
        now = timezone.now()
        with raising_all() as gather:
            with gather():
                nusd = _read_amount(stored, period, amount_nusd)
            with gather():
                end = read_end(until, now)
        made = Raise(id=str(new_id()), period=period, amount_nusd=nusd, until=end, by=actor, at=now)
        raises = [*raises_of(stored), made]
        if len(raises) > MAX_RAISES:
            raise ValidationError(f"At most {MAX_RAISES} raises can be in force. End one first.")
        details = {"period": period, "amount_nusd": made.amount_nusd, "until": _iso(made.until)}
        _write(stored, raises, actor=actor, action="raise_budget", details=details)
    holder.refresh_from_db(fields=["budget_raises"])
    return made


def end_raise(holder: Holder, raise_id: str, *, actor: str, asked_by: User | None = None) -> bool:
    """End a raise now. False: it is not in force."""
    _refuse(holder, asked_by)
    with _locked(holder) as stored:
        raises = raises_of(stored)
        ended = [one for one in raises if one.id == raise_id]
        for one in ended:
            left = [other for other in raises if other != one]
            details = {"period": one.period, "amount_nusd": one.amount_nusd}
            _write(stored, left, actor=actor, action="end_raise", details=details)
    holder.refresh_from_db(fields=["budget_raises"])
    return bool(ended)


def _refuse(holder: Holder, person: User | None) -> None:
    if isinstance(holder, ApiKey) and holder.revoked_at is not None:
        raise ValidationError("A revoked key cannot be changed. Create a new key.")
    if person is not None and not may_raise(person, holder):
        raise NotAllowed(REFUSED)


@contextmanager
def _locked(holder: Holder) -> Iterator[Holder]:
    """Yield the holder as it is stored, once no other change of the workspace's raises runs:
    writing to the workspace's row makes them wait for each other."""
    workspace = holder if isinstance(holder, Workspace) else holder.workspace
    with transaction.atomic():
        Workspace.objects.filter(pk=workspace.pk).update(slug=workspace.slug)
        stored = _rows(holder).first()
        if stored is None:
            raise ValidationError("This person is no longer a member.")
        yield stored


def _rows(holder: Holder) -> QuerySet[Workspace] | QuerySet[Membership] | QuerySet[ApiKey]:
    if isinstance(holder, Workspace):
        return Workspace.objects.filter(pk=holder.pk)
    if isinstance(holder, Membership):
        return Membership.objects.select_related("workspace", "user").filter(pk=holder.pk)
    return ApiKey.objects.select_related("workspace").filter(pk=holder.pk)


def _read_amount(holder: Holder, period: str, amount_nusd: int | None) -> int:
    if period not in FIELDS:
        raise ValidationError({"period": f"The period must be one of {', '.join(FIELDS)}."})
    limit_nusd: int | None = getattr(holder, FIELDS[period])
    if limit_nusd is None:
        raise ValidationError({"period": "There is no budget of this period to raise."})
    if type(amount_nusd) is not int or amount_nusd <= 0:
        raise ValidationError({"amount_nusd": "Enter an amount above 0 USD."})
    more = sum(one.amount_nusd for one in raises_of(holder) if one.period == period)
    if limit_nusd + more + amount_nusd > MAX_NUSD:
        raise ValidationError({"amount_nusd": "The raised budget is too large."})
    return amount_nusd


def read_end(until: datetime | None, now: datetime) -> datetime:
    """Return when a raise ends. Raises ValidationError."""
    if until is None:
        raise ValidationError({"until": "Enter when the raise ends."})
    if timezone.is_naive(until):
        raise ValidationError({"until": "The time needs a time zone."})
    if until <= now:
        raise ValidationError({"until": "This time has passed. Choose a future time."})
    if until > now + MAX_TIME:
        raise ValidationError({"until": "Choose a time within a year, or change the budget."})
    return until


def _write(
    holder: Holder,
    raises: Sequence[Raise],
    *,
    actor: str,
    action: str,
    details: dict[str, object],
) -> None:
    rows = [msgspec.to_builtins(one) for one in raises]
    _rows(holder).update(budget_raises=rows)
    if not isinstance(holder, ApiKey):
        record_budget(holder, actor=actor, action=action, details=details)
        return
    digests = [holder.digest, *(retired.digest for retired in holder.old_secrets)]
    record_changes(ConfigChange.Kind.KEY, digests)
    record_audit(
        actor=actor,
        action=f"key.{action}",
        target=str(holder.pk),
        workspace=holder.workspace,
        details=details,
    )


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
