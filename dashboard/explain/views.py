"""The page that explains a call: would it be admitted now, and which check refuses it?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from accounts.permissions import Action
from dashboard.explain.forms import OFFERED, PREFILLED, ExplainForm
from dashboard.explain.trace import StepLine, explained_trace
from dashboard.http.current_workspace import require
from dashboard.http.htmx import PageRequest, render_page
from gateway.api.explain import endpoint_choices, explain_for_person
from gateway.core.errors import GatewayError, RequestError
from gateway.core.json_types import JsonObject
from gateway.selectors.key_use import model_names
from keys.models import ApiKey
from keys.selectors import keys_explainable_by

NO_SERVER = "No server process is running. Start Tollhouse with `make up`."


@dataclass(frozen=True, slots=True)
class DecisionWords:
    """badge: class of the label."""

    label: str
    badge: str
    meaning: str


DECISIONS = {
    "admitted": DecisionWords("Admitted", "badge-ok", "The call would be admitted now."),
    "queued": DecisionWords(
        "Queued", "badge-warn", "The call would wait in the queue until a running call ends."
    ),
    "refused": DecisionWords("Refused", "badge-bad", "The call would be refused now."),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """What would become of the call. model: empty where it is refused before its model is known.
    error: as RefusalShown, None for a call that is not refused."""

    decision: DecisionWords
    key: ApiKey
    model: str
    endpoint: str
    address: str
    error: JsonObject | None
    hold_nusd: int
    max_output_tokens: int
    notes: Sequence[str]
    trace: Sequence[StepLine]

    @property
    def refused_by(self) -> str:
        return next((line.title for line in self.trace if line.result == "refused"), "")


@dataclass(frozen=True)
class ExplainContext:
    """Variables of dashboard/explain/page.html and _explain.html."""

    form: ExplainForm
    explained: Explained | None
    models: Sequence[str]


@login_required
@require_http_methods(["GET", "POST"])
def explain_call(request: PageRequest) -> HttpResponse:
    """Show the form; with a question, sent or in the address, the answer too."""
    workspace = require(request, Action.MAKE_KEYS)
    asked = _asked(request)
    form = ExplainForm(
        asked,
        initial={name: request.GET.get(name, "")[:300] for name in PREFILLED},
        keys=keys_explainable_by(request.user, workspace),
        endpoints=endpoint_choices(),
    )
    explained = _explain(request, form) if form.is_valid() else None
    form.focus_first_error()
    return render_page(
        request,
        page="dashboard/explain/page.html",
        partial="dashboard/explain/_explain.html",
        context=ExplainContext(form, explained, model_names()[:OFFERED]),
        status=422 if asked is not None and explained is None else 200,
    )


def _asked(request: PageRequest) -> Mapping[str, str] | None:
    """Return the question. An address asks one when it says of which call: key alone fills in the
    form."""
    if request.method == "POST":
        return request.POST
    is_asked = all(request.GET.get(name) for name in ("key", "model", "endpoint"))
    return request.GET if is_asked else None


def _explain(request: PageRequest, form: ExplainForm) -> Explained | None:
    """Return the answer to a valid form, or None with the reasons in the form."""
    key = form.chosen_key()
    if key is None:
        form.show("This key was removed in the meantime.", "key")
        return None
    try:
        found = explain_for_person(request, key, form.question())
    except RequestError as error:
        form.show(error.message, error.param or "body")
        return None
    except GatewayError as error:
        form.show(f"The server cannot explain calls now. {error.message}", None)
        return None
    if found is None:
        form.show(NO_SERVER, None)
        return None
    return Explained(
        decision=DECISIONS[found["decision"]],
        key=key,
        model=found["model"] or "",
        endpoint=found["endpoint"],
        address=found["address"],
        error=found["error"],
        hold_nusd=int(found["hold_nano_usd"]),
        max_output_tokens=found["max_output_tokens"],
        notes=found["notes"],
        trace=explained_trace(found),
    )
