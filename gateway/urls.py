"""Pages and the management API. Calls to models never come here: see gateway.asgi."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver, include, path, re_path

from gateway.core.mounts import ANY_MOUNT

urlpatterns: list[URLPattern | URLResolver] = [
    re_path(f"^{ANY_MOUNT}/", include("gateway.api.urls")),
    path("", include("dashboard.sign_in_urls")),
    path("", include("dashboard.urls")),
]

handler400 = "dashboard.views.errors.bad_request"
handler403 = "dashboard.views.errors.forbidden"
handler404 = "dashboard.views.errors.not_found"
handler429 = "dashboard.views.errors.too_many_requests"  # django-allauth's
handler500 = "dashboard.views.errors.server_error"
