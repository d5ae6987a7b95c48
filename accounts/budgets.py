"""Budgets of workspaces and of their members. Those of keys are in keys.services.

Every function raises ValidationError with an entry for each field that cannot be taken, and
NotAllowed where the person who asks may not do it: nobody lifts a limit that binds them.
"""

from __future__ import annotations

from collections.abc import Mapping
from zoneinfo import available_timezones

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from accounts.changes import differences, record_audit, record_change
from accounts.limits import SPENDING, has_budget, read_spending_limits
from accounts.models import ConfigChange, Membership, User, Workspace
from accounts.permissions import Action, NotAllowed, may, roles_given_by

# Names that time zone databases have besides those of places.
_NO_PLACES = frozenset({"Factory", "localtime", "posixrules"})

OWN = "You cannot change your own budget. Ask another owner or admin."
REFUSED = "Only owners and admins can change budgets; those of owners only owners."


def may_limit(person: User, holder: Workspace | Membership) -> bool:
    """True when this person may change the budgets."""
    if isinstance(holder, Workspace):
        return may(person, Action.MANAGE_WORKSPACE, holder)
    if person.is_operator and person.is_active:
        return True
    is_own = holder.user_id == person.pk
    return not is_own and holder.role in roles_given_by(person, holder.workspace)


def has_own_budget(person: User, workspace: Workspace) -> bool:
    """True when this person's spending is limited there by others."""
    if person.is_operator:
        return False
    member = Membership.objects.filter(workspace=workspace, user=person).first()
    return member is not None and has_budget(member)


def set_spending_limits(
    holder: Workspace | Membership,
    *,
    limits: Mapping[str, int | None],
    actor: str,
    asked_by: User | None = None,
) -> bool:
    """Replace all budgets of a workspace or a member. Returns False when nothing is different.

    limits: see accounts.limits.SPENDING, in nano-USD; None, or not given, is no limit. asked_by:
    the person who asks, if one does.
    """
    _refuse(holder, asked_by)
    wanted = read_spending_limits(limits)
    with transaction.atomic():
        stored = _rows_of(holder).first()
        if stored is None:
            raise ValidationError("This person is no longer a member.")
        details = differences(stored, wanted)
        if details:
            _rows_of(holder).update(**wanted)
            record_budget(holder, actor=actor, action="set_budget", details=details)
    holder.refresh_from_db(fields=SPENDING)
    return bool(details)


def reset_total(
    holder: Workspace | Membership, *, spent_nusd: int, actor: str, asked_by: User | None = None
) -> bool:
    """Count the total from nothing again. False: nothing has been spent since it was.

    spent_nusd: what was spent ever, by the ledger.
    """
    _refuse(holder, asked_by)
    with transaction.atomic():
        before_nusd = spent_nusd - holder.total_baseline_nusd
        changed = (
            _rows_of(holder)
            .filter(total_baseline_nusd__lt=spent_nusd)
            .update(total_baseline_nusd=spent_nusd)
        )
        if changed:
            details: dict[str, object] = {"spent_nusd": [before_nusd, 0]}
            record_budget(holder, actor=actor, action="reset_total", details=details)
    holder.refresh_from_db(fields=["total_baseline_nusd"])
    return changed == 1


def set_timezone(
    workspace: Workspace, *, timezone: str, actor: str, asked_by: User | None = None
) -> bool:
    """Set in which time zone days, weeks and months of budgets begin. False: it is that already.

    timezone: a name of the IANA database, such as Europe/Berlin.
    """
    _refuse(workspace, asked_by)
    if timezone not in list_timezones():
        words = "Choose a time zone such as Europe/Berlin, by its name in the IANA database."
        raise ValidationError({"timezone": words})
    with transaction.atomic():
        before = Workspace.objects.values_list("timezone", flat=True).get(pk=workspace.pk)
        if before == timezone:
            return False
        Workspace.objects.filter(pk=workspace.pk).update(timezone=timezone)
        details: dict[str, object] = {"timezone": [before, timezone]}
        record_budget(workspace, actor=actor, action="set_timezone", details=details)
    workspace.timezone = timezone
    return True


def list_timezones() -> list[str]:
    """Return the names of all time zones, in order."""
    return sorted(available_timezones() - _NO_PLACES)


def _refuse(holder: Workspace | Membership, person: User | None) -> None:
    if person is None or may_limit(person, holder):
        return
    is_own = isinstance(holder, Membership) and holder.user_id == person.pk
    raise NotAllowed(OWN if is_own else REFUSED)


def _rows_of(holder: Workspace | Membership) -> QuerySet[Workspace] | QuerySet[Membership]:
    if isinstance(holder, Workspace):
        return Workspace.objects.filter(pk=holder.pk)
    return Membership.objects.filter(pk=holder.pk)


def record_budget(
    holder: Workspace | Membership, *, actor: str, action: str, details: dict[str, object]
) -> None:
    """Tell processes and the audit log of a change, in the transaction that makes it."""
    is_member = isinstance(holder, Membership)
    workspace = holder.workspace if isinstance(holder, Membership) else holder
    record_change(ConfigChange.Kind.WORKSPACE, workspace.pk.hex)
    record_audit(
        actor=actor,
        action=f"{'member' if is_member else 'workspace'}.{action}",
        target=holder.user.email if isinstance(holder, Membership) else holder.slug,
        workspace=workspace,
        details=details,
    )
