"""Every page, one block each. Names are used as `dashboard:<name>`."""

from __future__ import annotations

from django.urls import path

from dashboard.views import shell

app_name = "dashboard"

urlpatterns = [
    # The frame
    path("workspace", shell.switch_workspace, name="workspace"),
    path("theme", shell.choose_theme, name="theme"),
    path("search", shell.search_palette, name="palette"),
]
