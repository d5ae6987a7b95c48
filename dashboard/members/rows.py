"""What the page of members shows: each with the keys they made and what those have spent."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q
from django.utils import timezone

from accounts.models import Membership, User, Workspace
from accounts.permissions import Action, may
from accounts.selectors import members_of
from gateway.selectors.periods import named_period
from gateway.selectors.usage_groups import usage_by
from gateway.selectors.visible import Visible
from keys.selectors import usable_keys_by_member

SHOWN = 200
USE_PERIOD = "30d"


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A member. keys: usable ones they made; charge_nusd: what their keys spent in 30 days."""

    membership: Membership
    is_you: bool
    keys: int
    calls: int
    charge_nusd: int


@dataclass(frozen=True, slots=True)
class MemberRows:
    """The first by e-mail address. shows_use: False leaves keys and spending at 0."""

    rows: list[MemberRow]
    more: int
    shows_use: bool


def member_rows(person: User, workspace: Workspace, query: str) -> MemberRows:
    """Return the members whose name or address has the query in it, for this person to see."""
    members = members_of(workspace)
    if query:
        members = members.filter(Q(user__email__icontains=query) | Q(user__name__icontains=query))
    shows_use = may(person, Action.VIEW_USAGE, workspace)
    keys = usable_keys_by_member(workspace) if shows_use else {}
    use = _use(workspace) if shows_use else {}
    rows = [
        MemberRow(
            membership,
            is_you=membership.user_id == person.pk,
            keys=keys.get(membership.user_id, 0),
            calls=use.get(membership.user.email, (0, 0))[0],
            charge_nusd=use.get(membership.user.email, (0, 0))[1],
        )
        for membership in members[:SHOWN]
    ]
    more = members.count() - SHOWN if len(rows) == SHOWN else 0
    return MemberRows(rows, more, shows_use)


def _use(workspace: Workspace) -> dict[str, tuple[int, int]]:
    """Return calls and nano-USD of the last 30 days by who made the key."""
    period = named_period(USE_PERIOD, now=timezone.now())
    rows = usage_by(
        Visible(workspace.pk), start=period.starts_at, end=period.ends_at, by=["member"]
    )
    return {row["member"]: (row["calls"], row["charge_nusd"]) for row in rows if row["member"]}
