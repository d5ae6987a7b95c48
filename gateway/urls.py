"""Pages and the management API. Calls to models never come here: see gateway.asgi."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path, re_path

from gateway.core.mounts import ANY_MOUNT

urlpatterns: list[URLPattern | URLResolver] = [
    re_path(f"^{ANY_MOUNT}/", include("gateway.api.urls")),
    path("", include("dashboard.account.urls")),
    path("", include("dashboard.urls")),
]

handler400 = "dashboard.error_pages.views.bad_request"
handler403 = "dashboard.error_pages.views.forbidden"
handler404 = "dashboard.error_pages.views.not_found"
handler429 = "dashboard.error_pages.views.too_many_requests"  # django-allauth's
handler500 = "dashboard.error_pages.views.server_error"
