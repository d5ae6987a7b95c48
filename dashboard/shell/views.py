"""The views of the frame around the pages: choose a theme, search."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_POST

from dashboard.http.current_workspace import current_workspace
from dashboard.http.htmx import PageRequest
from dashboard.http.page_urls import page_address
from dashboard.shell.context import THEME_COOKIE, THEMES
from dashboard.shell.palette import palette_results

THEME_AGE_S = 365 * 24 * 60 * 60


@require_GET
def without_slash(request: HttpRequest) -> HttpResponse:
    """Lead from /w/<slug>/ to the overview, whose address has no slash at its end."""
    return HttpResponseRedirect(page_address(current_workspace(request), "overview"))


@require_POST
def choose_theme(request: HttpRequest) -> HttpResponse:
    """Pin the theme in a cookie, or with an unknown name follow the person's system again."""
    theme = request.POST.get("theme", "")
    response = HttpResponseRedirect(_back(request))
    if theme in THEMES:
        response.set_cookie(
            THEME_COOKIE, theme, max_age=THEME_AGE_S, samesite="Lax", secure=request.is_secure()
        )
    else:
        response.delete_cookie(THEME_COOKIE, samesite="Lax")
    return response


@login_required
@require_GET
def search_palette(request: PageRequest) -> HttpResponse:
    query = request.GET.get("q", "")[:100].strip()
    results = palette_results(request, query)
    return render(
        request, "dashboard/shell/_palette_results.html", {"groups": results, "query": query}
    )


def _back(request: HttpRequest) -> str:
    url = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(url, allowed_hosts=None)
    return url if is_ours and url.startswith("/") else "/"
