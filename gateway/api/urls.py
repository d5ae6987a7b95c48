"""The endpoints that Django answers, included under every mount. No trailing slashes."""

from __future__ import annotations

from django.urls import path, re_path
from django.views.decorators.csrf import csrf_exempt

from gateway.api.batches import BatchCancelView, BatchDetailView, BatchListView
from gateway.api.explain import ExplainView
from gateway.api.files import FileContentView, FileListView, FileView
from gateway.api.health import HealthView, StatusView
from gateway.api.key import KeyInfoView
from gateway.api.language import LanguageCorrectView, LanguageDetectView
from gateway.api.openapi_view import serve
from gateway.api.pii import PiiAnalyseView, PiiRedactView, PiiRestoreView
from gateway.api.processors import ProcessorListView
from gateway.api.responses import InputItemsView, StoredResponseView
from gateway.api.usage import UsageView
from gateway.api.views import GenerationView, ModelListView, ModelView, unknown_path

urlpatterns = [
    path("openapi.json", csrf_exempt(serve)),
    path("health", HealthView.as_view()),
    path("status", StatusView.as_view()),
    path("models", ModelListView.as_view()),
    path("models/<path:name>", ModelView.as_view()),
    path("files", FileListView.as_view()),
    path("files/<str:file_id>", FileView.as_view()),
    path("files/<str:file_id>/content", FileContentView.as_view()),
    path("batches", BatchListView.as_view()),
    path("batches/<str:batch_id>", BatchDetailView.as_view()),
    path("batches/<str:batch_id>/cancel", BatchCancelView.as_view()),
    path("processors", ProcessorListView.as_view()),
    path("generation", GenerationView.as_view()),
    path("responses/compact", csrf_exempt(unknown_path)),  # no response has such an ID
    path("responses/<str:response_id>", StoredResponseView.as_view()),
    path("responses/<str:response_id>/input_items", InputItemsView.as_view()),
    path("key", KeyInfoView.as_view()),
    path("usage", UsageView.as_view()),
    path("language/detect", LanguageDetectView.as_view()),
    path("language/correct", LanguageCorrectView.as_view()),
    path("pii/analyse", PiiAnalyseView.as_view()),
    path("pii/redact", PiiRedactView.as_view()),
    path("pii/restore", PiiRestoreView.as_view()),
    path("admission/explain", ExplainView.as_view()),
    re_path(r"^.*$", csrf_exempt(unknown_path)),
]
