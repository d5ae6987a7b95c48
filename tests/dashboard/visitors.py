"""Browsers without a browser: a client signed in as somebody, and how htmx asks."""

from __future__ import annotations

from typing import Any

from django.test import Client
from django.urls import Resolver404, resolve, reverse

from accounts.models import User, Workspace
from accounts.selectors import first_workspace_of, workspaces_of
from dashboard.http.current_workspace import COOKIE
from dashboard.http.page_urls import names_of_workspace_pages
from dashboard.workspaces.redirects import MovedPage

HTMX: dict[str, Any] = {"HX-Request": "true"}


class Visitor(Client):
    """A client signed in as somebody, who is in a workspace: /keys is that page of theirs."""

    def __init__(self, person: User) -> None:
        super().__init__()
        self._person = person
        self.force_login(person)

    def request(self, **request: Any) -> Any:
        workspace = self.workspace
        if workspace is not None:
            request["PATH_INFO"] = full_path(workspace, request["PATH_INFO"])
        return super().request(**request)

    @property
    def workspace(self) -> Workspace | None:
        """The workspace they looked at last, as the product would find it."""
        last = self.cookies[COOKIE].value if COOKIE in self.cookies else ""
        seen = workspaces_of(self._person).filter(slug=last).first()
        return seen or first_workspace_of(self._person)


def signed_in(user: User) -> Visitor:
    return Visitor(user)


def path_of(name: str, *args: object) -> str:
    """Return the address of a page, for a Visitor: without the workspace, if one is part of it."""
    full = f"dashboard:{name}"
    if full not in names_of_workspace_pages():
        return reverse(full, args=args)
    return reverse(full, args=["x", *args]).removeprefix("/w/x") or "/"


def full_path(workspace: Workspace, path: str) -> str:
    """Return a page's address in this workspace, where path is that of one without it."""
    try:
        view = resolve(path).func
    except Resolver404:
        return path
    if getattr(view, "view_class", None) is not MovedPage:
        return path
    return f"/w/{workspace.slug}{path}".removesuffix("/")


def key_form(**fields: Any) -> dict[str, Any]:
    """Return what the form of a key posts, complete; fields change single ones."""
    return {
        "label": "Checkout",
        "models_mode": "all",
        "scopes": ["completions", "usage"],
        "ips_mode": "all",
        "expires": "never",
        "allows_profile_override": "on",
    } | fields


def seen_on(visitor: Visitor, path: str, *, form: str = "form") -> dict[str, str]:
    """Return what a form of this page says of the version that it was filled in for."""
    return {"seen": visitor.get(path).context[form]["seen"].value()}
