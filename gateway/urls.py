"""Pages and the management API. Calls to models never come here: see gateway.asgi."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver

urlpatterns: list[URLPattern | URLResolver] = []
