"""What the command palette finds: pages, keys, models, providers, a call by its id, workspaces."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q
from django.urls import reverse

from accounts.permissions import Action, may
from dashboard.http.current_workspace import NoWorkspace, current_workspace
from dashboard.http.htmx import PageRequest
from dashboard.http.page_urls import page_address
from dashboard.shell.context import Shell
from gateway.selectors.catalogue import model_rows, provider_rows
from keys.selectors import keys_visible_to

SHOWN = 6


@dataclass(frozen=True, slots=True)
class Found:
    """One line. url: where it leads; also: other words that people call it by."""

    words: str
    icon: str
    url: str
    note: str = ""
    also: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    title: str
    lines: list[Found]


def palette_results(request: PageRequest, query: str) -> list[Group]:
    """Return what fits the query, in groups; without a query what one most likely wants."""
    groups = [
        Group("Go to", _pages(request, query)),
        Group("Actions", _actions(request, query)),
        Group("Keys", _keys(request, query)),
        Group("Models", _models(request, query)),
        Group("Providers", _providers(request, query)),
        Group("Calls", _calls(request, query)),
        Group("Switch workspace", _workspaces(request, query)),
    ]
    return [group for group in groups if group.lines]


def _pages(request: PageRequest, query: str) -> list[Found]:
    pages = [
        Found(page.words, page.icon, page.url, note=f"G {page.shortcut.upper()}")
        for page in Shell(request).pages
    ]
    also = "password passkey two-factor profile"
    pages.append(Found("Account and security", "shield-check", reverse("mfa_index"), also=also))
    return [page for page in pages if _fits(page, query)]


def _actions(request: PageRequest, query: str) -> list[Found]:
    try:
        workspace = current_workspace(request)
    except NoWorkspace:
        return []
    pages = [
        ("Create key", "plus", Action.MAKE_KEYS, page_address(workspace, "key-create")),
        (
            *("Grant credits", "circle-dollar-sign", Action.GRANT_CREDITS),
            page_address(workspace, "credits-grant"),
        ),
        (
            *("Invite member", "user-plus", Action.MANAGE_MEMBERS),
            page_address(workspace, "member-invite"),
        ),
        (
            *("Create workspace", "building-2", Action.MANAGE_WORKSPACES),
            reverse("dashboard:workspace-create"),
        ),
        ("Add model", "boxes", Action.MANAGE_CATALOGUE, reverse("dashboard:model-create")),
        ("Add provider", "plug", Action.MANAGE_CATALOGUE, reverse("dashboard:provider-create")),
    ]
    actions = [
        Found(words, icon, url, also="new add create issue top up")
        for words, icon, action, url in pages
        if may(request.user, action, workspace)
    ]
    actions.append(Found("Sign out", "log-out", reverse("account_logout"), also="log leave"))
    return [action for action in actions if _fits(action, query)]


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
            page_address(workspace, "key-edit", key.pk),
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


def _providers(request: PageRequest, query: str) -> list[Found]:
    if not query or not may(request.user, Action.MANAGE_CATALOGUE):
        return []
    return [
        Found(
            row.provider.name,
            "plug",
            reverse("dashboard:provider-edit", args=[row.provider.pk]),
            note="" if row.provider.enabled else "off",
        )
        for row in provider_rows(text=query)[:SHOWN]
    ]


def _calls(request: PageRequest, query: str) -> list[Found]:
    """A call is found by its whole id, in any spelling that we send it in."""
    try:
        call_id = UUID(query.rpartition("-")[2] if query.count("-") == 1 else query)
    except ValueError:
        return []
    try:
        workspace = current_workspace(request)
    except NoWorkspace:
        return []
    return [Found(str(call_id), "activity", page_address(workspace, "call-detail", call_id))]


def _workspaces(request: PageRequest, query: str) -> list[Found]:
    if not query:
        return []
    found = Shell(request).find_workspaces(query, SHOWN)
    return [Found(each.workspace.name, "arrow-left-right", each.url) for each in found]


def _fits(found: Found, query: str) -> bool:
    """True when every word of the query is in what it is called, or in what else it is called."""
    words = f"{found.words} {found.also}".lower()
    return all(word in words for word in query.lower().split())
