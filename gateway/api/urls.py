"""The endpoints that Django answers, included under every mount. No trailing slashes."""

from __future__ import annotations

from django.urls import path, re_path
from django.views.decorators.csrf import csrf_exempt

from gateway.api.health import Health, Status
from gateway.api.openapi import serve
from gateway.api.usage import UsageReport
from gateway.api.views import Generation, ModelDetail, ModelList, unknown_path

urlpatterns = [
    path("openapi.json", csrf_exempt(serve)),
    path("health", Health.as_view()),
    path("status", Status.as_view()),
    path("models", ModelList.as_view()),
    path("models/<path:name>", ModelDetail.as_view()),
    path("generation", Generation.as_view()),
    path("usage", UsageReport.as_view()),
    re_path(r"^.*$", csrf_exempt(unknown_path)),
]
