"""set_budget: the budgets of a workspace, of a member or of a key."""

from __future__ import annotations

import time
from argparse import ArgumentParser

import msgspec
from django.db import transaction

from accounts import budgets
from accounts.limits import SPENDING
from accounts.management.json_command import ACTOR, Answer, JsonCommand
from accounts.management.limit_options import (
    add_spending_options,
    read_spending_options,
)
from accounts.models import Membership, Workspace
from accounts.selectors import get_member, get_workspace
from gateway.core.money import format_usd, read_usd
from gateway.selectors.budget_lines import BudgetLine, budget_lines, owner_of
from gateway.selectors.spending import spent_by
from keys import services as keys
from keys.limits import limits_of
from keys.management.commands.issue_key import read_moment
from keys.models import ApiKey
from keys.raises import Holder, end_raise, raise_budget, raises_of
from keys.selectors import get_key


class Command(JsonCommand):
    help = (
        "Change the budgets of a workspace, or of one of its members or keys, and show spending."
        " Budgets that are not given do not change. `none` is no limit. Changes apply within a"
        " second."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("workspace", help="Workspace ID, slug or name.")
        owner = parser.add_mutually_exclusive_group()
        owner.add_argument(
            "--member", metavar="EMAIL", help="Budgets of this member, for all keys they own."
        )
        owner.add_argument("--key", help="Key ID (preferred), last 4 characters, or the secret.")
        add_spending_options(parser)
        parser.add_argument(
            "--reset-total", action="store_true", help="Reset the total budget to 0 spent."
        )
        parser.add_argument(
            "--raise",
            dest="raises",
            metavar="PERIOD=USD",
            action="append",
            default=[],
            help="Add this amount to a budget until --until. Periods: day, week,"
            " month, total. Repeatable.",
        )
        parser.add_argument("--until", metavar="WHEN", help="30d, 12h or an ISO 8601 time.")
        parser.add_argument("--end-raises", action="store_true", help="End all current raises.")
        parser.add_argument(
            "--timezone",
            metavar="NAME",
            help="Time zone of all budgets of the workspace: when days, weeks and months begin. For"
            " example Europe/Berlin.",
        )

    @transaction.atomic
    def answer(
        self,
        *,
        workspace: str,
        member: str | None,
        key: str | None,
        reset_total: bool,
        timezone: str | None,
        raises: list[str],
        until: str | None,
        end_raises: bool,
        **options: object,
    ) -> Answer:
        found = get_workspace(workspace)
        holder = _find_holder(found, member, key)
        changed = False
        if timezone is not None:
            changed |= budgets.set_timezone(found, timezone=timezone, actor=ACTOR)
        if named := read_spending_options(options):
            changed |= _set_limits(holder, named)
        if reset_total:
            changed |= _reset_total(holder)
        if end_raises:
            for one in raises_of(holder):
                changed |= end_raise(holder, one.id, actor=ACTOR)
        if raises:
            changed = True
            _raise(holder, raises, until)
        holder.refresh_from_db()
        owner = owner_of(holder)
        return {
            "changed": changed,
            "workspace_id": str(found.pk),
            "level": owner.level.name.lower(),
            "name": str(holder) if not isinstance(holder, Membership) else holder.user.email,
            "timezone": found.timezone,
            "raises": [msgspec.to_builtins(one) for one in raises_of(holder)],
            "budgets": [_written(line) for line in budget_lines(holder, time.time())],
        }

    def describe(self, answer: Answer) -> str:
        done = "changed" if answer["changed"] else "as they were"
        lines = answer["budgets"]
        assert isinstance(lines, list)
        words = [
            f"  {line['period']}: {line['spent_usd']} USD spent,"
            f" limit {line['limit_usd'] or 'none'}"
            for line in lines
        ]
        return "\n".join(["Budgets of {level} {name} are {}:".format(done, **answer), *words])


def _find_holder(workspace: Workspace, member: str | None, key: str | None) -> Holder:
    if member is not None:
        return get_member(workspace, member)
    if key is None:
        return workspace
    found = get_key(key)
    if found.workspace_id != workspace.pk:
        raise LookupError(f"This key belongs to another workspace, not to {workspace}.")
    return found


def _set_limits(holder: Holder, named: dict[str, int | None]) -> bool:
    if isinstance(holder, ApiKey):
        return keys.set_limits(holder, limits=limits_of(holder) | named, actor=ACTOR)
    limits = {name: getattr(holder, name) for name in SPENDING} | named
    return budgets.set_spending_limits(holder, limits=limits, actor=ACTOR)


def _reset_total(holder: Holder) -> bool:
    spent_nusd = spent_by(owner_of(holder), time.time(), periods=("total",)).total_nusd
    if isinstance(holder, ApiKey):
        return keys.reset_total(holder, spent_nusd=spent_nusd, actor=ACTOR)
    return budgets.reset_total(holder, spent_nusd=spent_nusd, actor=ACTOR)


def _raise(holder: Holder, raises: list[str], until: str | None) -> None:
    if until is None:
        raise ValueError("Set the end of the raise with --until.")
    for wish in raises:
        period, equals, amount = wish.partition("=")
        if not equals:
            raise ValueError(f"{wish[:40]!r} is not a raise. Use PERIOD=USD, such as day=5.")
        raise_budget(
            holder,
            period=period,
            amount_nusd=read_usd(amount),
            until=read_moment(until),
            actor=ACTOR,
        )


def _written(line: BudgetLine) -> dict[str, object]:
    left_nusd = line.left_nusd
    return {
        "period": line.period,
        "limit_usd": None if line.limit_nusd is None else format_usd(line.limit_nusd),
        "spent_usd": format_usd(line.spent_nusd),
        "left_usd": None if left_nusd is None else format_usd(left_nusd),
        "resets_at": line.resets_at.isoformat() if line.resets_at else None,
    }
