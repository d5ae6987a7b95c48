"""Links to pages, most of which are of a workspace. Built into every template."""

from __future__ import annotations

from typing import Any

from django import template
from django.http import HttpRequest
from django.template import Context
from django.template.base import Parser, Token
from django.template.defaulttags import URLNode
from django.template.defaulttags import url as plain_url
from django.urls import reverse

from dashboard.http.current_workspace import NoWorkspace, current_workspace
from dashboard.http.page_urls import SLUG, names_of_workspace_pages, own_address, page_address

register = template.Library()


class _SlugInView:
    """An argument of a tag: the slug of the workspace in view."""

    def resolve(self, context: Context) -> str:
        return current_workspace(_request(context)).slug


class PageNode(template.Node):
    """The address of a page, in the workspace in view where a workspace is part of it."""

    def __init__(self, plain: URLNode) -> None:
        args: list[Any] = [] if plain.kwargs else [_SlugInView(), *plain.args]
        kwargs: dict[str, Any] = {SLUG: _SlugInView(), **plain.kwargs} if plain.kwargs else {}
        self._plain = plain
        self._of_workspace = URLNode(plain.view_name, args, kwargs, plain.asvar)

    def render(self, context: Context) -> str:
        if self._plain.view_name.resolve(context) not in names_of_workspace_pages():
            return self._plain.render(context)
        try:
            return self._of_workspace.render(context)
        except NoWorkspace:  # the palette has an address for who is in none
            return self._plain.render(context)


@register.tag
def url(parser: Parser, token: Token) -> PageNode:
    """Django's `url`. A page of a workspace needs no argument for it: it is the one in view."""
    return PageNode(plain_url(parser, token))


@register.simple_tag(takes_context=True)
def list_url(context: Context, name: str) -> str:
    """Return the address of a list, with the filters it had when the person came from it."""
    request = _request(context)
    if name in names_of_workspace_pages():
        plain = page_address(current_workspace(request), name.removeprefix("dashboard:"))
    else:
        plain = reverse(name)
    before = own_address(request, request.headers.get("Referer", ""))
    return before if before.partition("?")[0] == plain else plain


def _request(context: Context) -> HttpRequest:
    # It is part of the context even where a template was included with `only`.
    request: HttpRequest = context.request  # type: ignore[attr-defined]
    return request
