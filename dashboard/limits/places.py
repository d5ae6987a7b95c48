"""Where limits are set, and what a limit there can be for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.urls import reverse

from accounts.models import Membership, User, Workspace
from accounts.permissions import Action
from accounts.selectors import members_of
from dashboard.http.current_workspace import current_workspace, require_operator
from dashboard.http.htmx import PageRequest
from dashboard.http.page_urls import page_address
from dashboard.http.query_params import read_id
from gateway.models import LanguageModel
from keys.limit_actions import may_manage
from keys.limit_rules import (
    RuleHolder,
    for_each_key,
    for_each_member,
    for_installation,
    for_key,
    for_member,
    for_model,
    for_workspace,
)
from keys.limit_selectors import limit_rules_of
from keys.models import ApiKey, LimitRule

# Of keys, members and models in the menu; for others there is a link on their own page.
OFFERED = 200
EACH = "each"

Choice = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Place:
    """A workspace with its members and keys, or (None) the installation with its models."""

    workspace: Workspace | None

    def address(self, verb: str, *args: object) -> str:
        """verb: list, create, edit or remove."""
        if self.workspace is not None:
            return page_address(self.workspace, f"limit-{verb}", *args)
        return reverse(f"dashboard:installation-limit-{verb}", args=args)

    def rules(self, query: str = "") -> QuerySet[LimitRule]:
        """Return the limits that are set here. query: part of their label, or of what for."""
        rules = limit_rules_of(self.workspace)
        if not query:
            return rules
        holder = Q(membership__user__email__icontains=query) | Q(key__label__icontains=query)
        return rules.filter(holder | Q(model__icontains=query) | Q(label__icontains=query))

    def may_manage(self, person: User) -> bool:
        return may_manage(person, self.workspace)

    def choices(self, chosen: str) -> list[tuple[str, list[Choice]]]:
        """Return what a limit can be for, in groups. chosen: one that is there in any case."""
        groups = list(_installation_groups() if self.workspace is None else _groups(self.workspace))
        offered = {value for _, choices in groups for value, _ in choices}
        if chosen and chosen not in offered and (holder := self.holder(chosen)):
            groups.append(("Chosen", [(chosen, _name_of(holder))]))
        return groups

    def holder(self, value: str) -> RuleHolder | None:
        """Return what a value of the menu stands for, None for what is not there."""
        level, _, rest = value.partition(":")
        if self.workspace is None:
            return _read_installation(level, rest)
        if level == LimitRule.Level.MEMBER:
            return _read_member(self.workspace, rest)
        if level == LimitRule.Level.KEY:
            return _read_key(self.workspace, rest)
        return for_workspace(self.workspace) if value == LimitRule.Level.WORKSPACE else None


def place_of(request: PageRequest) -> Place:
    """Return the workspace that the address names."""
    return Place(current_workspace(request))


def installation(request: PageRequest) -> Place:
    """Return the installation. Raises PermissionDenied unless the person is an operator."""
    require_operator(request, Action.MANAGE_CATALOGUE)
    return Place(None)


def value_of(holder: RuleHolder) -> str:
    """Return the value of the menu that stands for it."""
    if holder.level == LimitRule.Level.MODEL:
        return f"{holder.level}:{holder.model}"
    if holder.level == LimitRule.Level.MEMBER:
        return f"{holder.level}:{holder.membership.pk if holder.membership else EACH}"
    if holder.level == LimitRule.Level.KEY:
        return f"{holder.level}:{holder.key.pk if holder.key else EACH}"
    return holder.level.value


def _groups(workspace: Workspace) -> Iterator[tuple[str, list[Choice]]]:
    yield "Workspace", [(value_of(for_workspace(workspace)), "All keys of the workspace together")]
    members = members_of(workspace)[:OFFERED]
    yield (
        "Members",
        [
            (value_of(for_each_member(workspace)), "Each member"),
            *((value_of(for_member(member)), member.user.email) for member in members),
        ],
    )
    keys = ApiKey.objects.usable().filter(workspace=workspace)[:OFFERED]
    yield (
        "Keys",
        [
            (value_of(for_each_key(workspace)), "Each key"),
            *((value_of(for_key(key)), _name_of(for_key(key))) for key in keys),
        ],
    )


def _installation_groups() -> Iterator[tuple[str, list[Choice]]]:
    yield "Installation", [(value_of(for_installation()), "All calls together")]
    names = LanguageModel.objects.order_by("name").values_list("name", flat=True)[:OFFERED]
    yield "Models", [(value_of(for_model(name)), name) for name in names]


def _name_of(holder: RuleHolder) -> str:
    if holder.key is not None:
        return f"{holder.key.label} ({holder.key.shown_secret})"
    if holder.membership is not None:
        return holder.membership.user.email
    return holder.model


def _read_installation(level: str, name: str) -> RuleHolder | None:
    if level == LimitRule.Level.INSTALLATION and not name:
        return for_installation()
    is_model = level == LimitRule.Level.MODEL and "\0" not in name
    if is_model and LanguageModel.objects.filter(name=name).exists():
        return for_model(name)
    return None


def _read_member(workspace: Workspace, text: str) -> RuleHolder | None:
    if text == EACH:
        return for_each_member(workspace)
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        return None
    member: Membership | None = members_of(workspace).filter(pk=int(text)).first()
    return None if member is None else for_member(member)


def _read_key(workspace: Workspace, text: str) -> RuleHolder | None:
    if text == EACH:
        return for_each_key(workspace)
    key_id = read_id(text)
    if key_id is None:
        return None
    key = ApiKey.objects.filter(workspace=workspace, pk=key_id).select_related("workspace").first()
    return None if key is None else for_key(key)
