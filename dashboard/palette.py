"""What the command palette finds: pages, keys, models, a call by its id, workspaces."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q
from django.urls import reverse

from accounts.permissions import Action, may
from accounts.selectors import workspaces_of
from dashboard.htmx import PageRequest
from dashboard.shell import Shell
from dashboard.workspace import NoWorkspace, current_workspace
from gateway.selectors.catalogue import model_rows
from keys.selectors import keys_visible_to

SHOWN = 6


@dataclass(frozen=True, slots=True)
class Found:
    """One line. url: where it leads; workspace_id: set when it is a workspace to switch to."""

    words: str
    icon: str
    url: str
    note: str = ""
    workspace_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Group:
    title: str
    lines: list[Found]


def palette_results(request: PageRequest, query: str) -> list[Group]:
    """Return what fits the query, in groups; without a query what one most likely wants."""
    groups = [
        Group("Go to", _pages(request, query)),
        Group("Do", _actions(request, query)),
        Group("Keys", _keys(request, query)),
        Group("Models", _models(request, query)),
        Group("Calls", _calls(request, query)),
        Group("Switch workspace", _workspaces(request, query)),
    ]
    return [group for group in groups if group.lines]


def _pages(request: PageRequest, query: str) -> list[Found]:
    pages = [
        Found(page.words, page.icon, page.url, note=f"G {page.shortcut.upper()}")
        for page in Shell(request).pages
    ]
    pages.append(Found("Account and security", "shield-check", reverse("mfa_index")))
    return [page for page in pages if _fits(page.words, query)]


def _actions(request: PageRequest, query: str) -> list[Found]:
    try:
        workspace = current_workspace(request)
    except NoWorkspace:
        return []
    actions = []
    if may(request.user, Action.MANAGE_KEYS, workspace):
        actions.append(Found("Create a key", "plus", reverse("dashboard:key-create"), note="N"))
    if may(request.user, Action.GRANT_CREDITS, workspace):
        url = reverse("dashboard:credits-grant")
        actions.append(Found("Grant credits", "circle-dollar-sign", url))
    if may(request.user, Action.MANAGE_MEMBERS, workspace):
        url = reverse("dashboard:member-invite")
        actions.append(Found("Invite somebody", "user-plus", url))
    if may(request.user, Action.MANAGE_WORKSPACES):
        url = reverse("dashboard:workspace-create")
        actions.append(Found("Make a workspace", "building-2", url))
    if may(request.user, Action.MANAGE_CATALOGUE):
        actions.append(Found("Add a model", "boxes", reverse("dashboard:model-create")))
        actions.append(Found("Add a provider", "plug", reverse("dashboard:provider-create")))
    return [action for action in actions if _fits(action.words, query)]


def _keys(request: PageRequest, query: str) -> list[Found]:
    try:
        workspace = current_workspace(request)
    except NoWorkspace:
        return []
    keys = keys_visible_to(request.user, workspace)
    if query:
        keys = keys.filter(Q(label__icontains=query) | Q(hint=query[-4:]))
    return [
        Found(
            key.label,
            "key-round",
            reverse("dashboard:key-edit", args=[key.pk]),
            note=f"…{key.hint}" if key.is_usable else "not active",
        )
        for key in keys[:SHOWN]
    ]


def _models(request: PageRequest, query: str) -> list[Found]:
    if not query or not may(request.user, Action.MANAGE_CATALOGUE):
        return []
    return [
        Found(
            row.model.name,
            "boxes",
            reverse("dashboard:model-edit", args=[row.model.pk]),
            note="" if row.model.enabled else "off",
        )
        for row in model_rows(text=query, limit=SHOWN)
    ]


def _calls(request: PageRequest, query: str) -> list[Found]:
    """A call is found by its whole id, in any spelling that we send it in."""
    try:
        call_id = UUID(query.rpartition("-")[2] if query.count("-") == 1 else query)
    except ValueError:
        return []
    return [Found(str(call_id), "activity", reverse("dashboard:call-detail", args=[call_id]))]


def _workspaces(request: PageRequest, query: str) -> list[Found]:
    if not query:
        return []
    found = workspaces_of(request.user).filter(name__icontains=query)[:SHOWN]
    return [Found(each.name, "arrow-left-right", "", workspace_id=each.pk) for each in found]


def _fits(words: str, query: str) -> bool:
    return query.lower() in words.lower()
