"""The page that shows the secret of a key, this once."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpResponse
from django.views.decorators.debug import sensitive_variables

from accounts.ledger_selectors import find_balance
from dashboard.http.htmx import PageRequest, render_page
from dashboard.keys.rules_form import models_within
from dashboard.keys.snippets import curl_line, python_lines
from gateway.selectors.key_use import model_names
from keys.models import ApiKey
from keys.services import IssuedKey


@dataclass(frozen=True)
class IssuedContext:
    """Variables of dashboard/keys/issued.html, _issued.html. Holds the secret: never stored.
    has_credit: the balance of the workspace is above zero, so that its calls are not refused."""

    key: ApiKey
    secret: str
    curl: str
    python: str
    has_credit: bool


@sensitive_variables()
def show_issued(request: PageRequest, issued: IssuedKey) -> HttpResponse:
    models = models_within(model_names(), issued.key.allowed_models) or ["a-model"]
    return render_page(
        request,
        page="dashboard/keys/issued.html",
        partial="dashboard/keys/_issued.html",
        context=IssuedContext(
            key=issued.key,
            secret=issued.secret,
            curl=curl_line(request, issued.secret, models[0]),
            python=python_lines(request, issued.secret, models[0]),
            has_credit=find_balance(issued.key.workspace_id).posted_nusd > 0,
        ),
        status=201,
    )
