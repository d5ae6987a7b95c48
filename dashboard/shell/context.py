"""What surrounds every page: who is signed in, where they can go, which theme they chose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from django.http import HttpRequest
from django.urls import reverse

from accounts.models import User, Workspace
from accounts.permissions import Action, may, where_allowed
from accounts.selectors import workspaces_of
from dashboard.http.current_workspace import NoWorkspace, current_workspace, is_of_workspace
from dashboard.http.page_urls import names_of_workspace_pages, page_address

THEMES = ("light", "dark")
THEME_COOKIE = "theme"
WORKSPACES_SHOWN = 50
OVERVIEW = "overview"


@dataclass(frozen=True, slots=True)
class _Page:
    """A page of the navigation. action: what one must be allowed to do; shortcut: key after g."""

    words: str
    name: str
    icon: str
    action: Action
    shortcut: str


_PAGES = (
    _Page("Overview", OVERVIEW, "layout-dashboard", Action.VIEW_OWN_USAGE, "o"),
    _Page("Keys", "key-list", "key-round", Action.VIEW_OWN_USAGE, "k"),
    _Page("Calls", "call-list", "activity", Action.VIEW_OWN_USAGE, "c"),
    _Page("Batches", "batch-list", "layers", Action.VIEW_OWN_USAGE, "q"),
    _Page("Files", "file-list", "files", Action.VIEW_FILES, "f"),
    _Page("Credits", "credits", "wallet", Action.VIEW_CREDITS, "b"),
    _Page("Limits", "limit-list", "gauge", Action.VIEW_KEYS, "l"),
    _Page("Explain a call", "explain", "list-checks", Action.MAKE_KEYS, "e"),
    _Page("Processors", "processors", "scan-text", Action.MAKE_KEYS, "t"),
    _Page("API reference", "reference", "book-open", Action.VIEW_OWN_USAGE, "r"),
    _Page("Members", "member-list", "users", Action.VIEW_MEMBERS, "u"),
    _Page("Audit log", "audit", "scroll-text", Action.VIEW_AUDIT, "a"),
    _Page("Settings", "settings", "settings-2", Action.MANAGE_WORKSPACE, "s"),
    _Page("Workspaces", "workspace-list", "building-2", Action.MANAGE_WORKSPACES, "w"),
    _Page("Models", "model-list", "boxes", Action.MANAGE_CATALOGUE, "m"),
    _Page("Providers", "provider-list", "plug", Action.MANAGE_CATALOGUE, "p"),
    _Page("Tools", "tool-list", "wrench", Action.MANAGE_CATALOGUE, "x"),
    _Page(
        *("Installation limits", "installation-limit-list", "gauge"),
        *(Action.MANAGE_CATALOGUE, "i"),
    ),
    _Page("Hosts", "host-list", "server", Action.MANAGE_HOSTS, "h"),
)
# What belongs to the installation, not to the workspace in view.
_INSTALLATION = frozenset({Action.MANAGE_CATALOGUE, Action.MANAGE_WORKSPACES, Action.MANAGE_HOSTS})


@dataclass(frozen=True, slots=True)
class WorkspaceLink:
    """A line of the switcher. url: the page in view, there; else its overview."""

    workspace: Workspace
    url: str
    is_current: bool


@dataclass(frozen=True, slots=True, kw_only=True)
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

    @property
    def is_of_workspace(self) -> bool:
        """True when the page is of the workspace, not of the installation or the account."""
        return is_of_workspace(self._request)

    @cached_property
    def workspaces(self) -> list[WorkspaceLink]:
        """The first of those the person may switch to, by name."""
        return self.find_workspaces("", WORKSPACES_SHOWN)

    def find_workspaces(self, query: str, limit: int) -> list[WorkspaceLink]:
        """Return those with the query in their name, and for each the address to switch to."""
        if self.person is None:
            return []
        theirs = workspaces_of(self.person)
        found = list((theirs.filter(name__icontains=query) if query else theirs)[:limit])
        page = self._page_to_keep
        covered = where_allowed(self.person, page.action, found) if page else frozenset()
        return [
            WorkspaceLink(
                each,
                page_address(each, page.name if page and each.pk in covered else OVERVIEW),
                is_current=self.is_of_workspace and each == self.workspace,
            )
            for each in found
        ]

    @cached_property
    def pages(self) -> list[PageLink]:
        """The pages of the workspace that this person may open."""
        person, workspace = self.person, self.workspace
        if person is None or workspace is None:
            return []
        return [
            PageLink(
                words=page.words,
                url=url,
                icon=page.icon,
                shortcut=page.shortcut,
                # Every page of a workspace is below its overview.
                is_current=self._is_current(url)
                and (page.name != OVERVIEW or url == self._request.path),
                is_installations=page.action in _INSTALLATION,
            )
            for page in _PAGES
            if may(person, page.action, workspace)
            for url in [_address(page, workspace)]
        ]

    @property
    def is_account_page(self) -> bool:
        return self._is_current(reverse("mfa_index"))

    @cached_property
    def _page_to_keep(self) -> _Page | None:
        """The page of the navigation in view, if it is of a workspace: another one has it too."""
        match = self._request.resolver_match
        if match is None or not self.is_of_workspace:
            return None
        return next((page for page in _PAGES if match.view_name == f"dashboard:{page.name}"), None)

    def _is_current(self, url: str) -> bool:
        path = self._request.path
        return path == url or path.startswith(f"{url}/")


def _address(page: _Page, workspace: Workspace) -> str:
    if f"dashboard:{page.name}" in names_of_workspace_pages():
        return page_address(workspace, page.name)
    return reverse(f"dashboard:{page.name}")


def shell(request: HttpRequest) -> dict[str, object]:
    """Context processor: `shell`, and the nonce under the name that django-htmx looks for."""
    nonce: Callable[[], str] | str = getattr(request, "csp_nonce", "")
    return {"shell": Shell(request), "csp_nonce": str(nonce)}
