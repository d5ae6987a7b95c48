"""What surrounds every page: who is signed in, where they can go, which theme they chose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from accounts.models import User, Workspace
from accounts.permissions import Action, may
from accounts.selectors import workspaces_of
from dashboard.workspace import NoWorkspace, current_workspace

THEMES = ("light", "dark")
THEME_COOKIE = "theme"
WORKSPACES_SHOWN = 50

# (words, URL name, icon, what one must be allowed to do, key after g)
_PAGES = (
    ("Overview", "dashboard:overview", "layout-dashboard", Action.VIEW_OWN_USAGE, "o"),
    ("Keys", "dashboard:key-list", "key-round", Action.VIEW_OWN_USAGE, "k"),
    ("Calls", "dashboard:call-list", "activity", Action.VIEW_OWN_USAGE, "c"),
    ("Credits", "dashboard:credits", "wallet", Action.VIEW_CREDITS, "b"),
    ("API reference", "dashboard:reference", "book-open", Action.VIEW_OWN_USAGE, "r"),
    ("Members", "dashboard:member-list", "users", Action.VIEW_MEMBERS, "u"),
    ("Audit log", "dashboard:audit", "scroll-text", Action.VIEW_AUDIT, "a"),
    ("Settings", "dashboard:settings", "settings-2", Action.MANAGE_WORKSPACE, "s"),
    ("Workspaces", "dashboard:workspace-list", "building-2", Action.MANAGE_WORKSPACES, "w"),
    ("Models", "dashboard:model-list", "boxes", Action.MANAGE_CATALOGUE, "m"),
    ("Providers", "dashboard:provider-list", "plug", Action.MANAGE_CATALOGUE, "p"),
)
# What belongs to the installation, not to the workspace in view.
_INSTALLATION = frozenset({Action.MANAGE_CATALOGUE, Action.MANAGE_WORKSPACES})


@dataclass(frozen=True, slots=True)
class PageLink:
    """A line of the navigation. shortcut: the key to press after g. is_installations: not of the
    workspace in view."""

    words: str
    url: str
    icon: str
    shortcut: str
    is_current: bool
    is_installations: bool


class Shell:
    """Read by base.html; every answer is looked up when a template asks, and then kept."""

    def __init__(self, request: HttpRequest) -> None:
        self._request = request

    @property
    def theme(self) -> str:
        """The theme the person pinned, or "" for what their system says."""
        theme = self._request.COOKIES.get(THEME_COOKIE, "")
        return theme if theme in THEMES else ""

    @cached_property
    def person(self) -> User | None:
        user = getattr(self._request, "user", None)
        return user if isinstance(user, User) else None

    @cached_property
    def workspace(self) -> Workspace | None:
        try:
            return current_workspace(self._request)
        except NoWorkspace:
            return None

    @cached_property
    def workspaces(self) -> list[Workspace]:
        """The first of those the person may switch to, by name."""
        if self.person is None:
            return []
        return list(workspaces_of(self.person)[:WORKSPACES_SHOWN])

    @cached_property
    def pages(self) -> list[PageLink]:
        """The pages of the workspace that this person may open."""
        person, workspace = self.person, self.workspace
        if person is None or workspace is None:
            return []
        return [
            PageLink(
                *(words, reverse(name), icon, shortcut),
                is_current=self._is_current(reverse(name)),
                is_installations=action in _INSTALLATION,
            )
            for words, name, icon, action, shortcut in _PAGES
            if may(person, action, workspace)
        ]

    @property
    def is_account_page(self) -> bool:
        return self._is_current(reverse("mfa_index"))

    def _is_current(self, url: str) -> bool:
        path = self._request.path
        return path == url or (url != "/" and path.startswith(f"{url}/"))


def shell(request: HttpRequest) -> dict[str, Any]:
    """Context processor: `shell`, and the nonce under the name that django-htmx looks for."""
    nonce: Callable[[], str] | str = getattr(request, "csp_nonce", "")
    return {"shell": Shell(request), "csp_nonce": str(nonce)}
