"""The page of processors: what there is, what is mandatory, and a text to try."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django import forms
from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.views.decorators.http import require_http_methods

from accounts.models import Workspace
from accounts.permissions import Action, may
from dashboard.forms.values import FormValues
from dashboard.http.current_workspace import require
from dashboard.http.htmx import PageRequest, render_page
from dashboard.processors.lines import MandatoryLine, mandatory_lines
from dashboard.processors.option_fields import TRIAL, OptionsForm
from gateway.api.trial import LANGUAGES, NotServed, Trial, TrialOptions, processors, try_text
from gateway.core.errors import GatewayError
from gateway.models import ProcessorService
from gateway.processors.prompt_shield import DEFAULT_THRESHOLD
from gateway.selectors.processors import mandatory_in, services_in

MAX_CHARS = 20_000


class TrialForm(OptionsForm):
    """What is tried, with options of anonymise, prompt_shield and spellcheck."""

    text = forms.CharField(
        max_length=MAX_CHARS,
        label="Text",
        help_text="Not stored, not logged and not sent to a model.",
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
        error_messages={"required": "Enter a text."},
    )
    language = forms.ChoiceField(label="Language", choices=[(one, one) for one in LANGUAGES])

    def __init__(self, data: FormValues | None, services: Sequence[ProcessorService]) -> None:
        super().__init__(data, processor=TRIAL, services=services, given={"language": "en"})
        self.fields["threshold"].label = "prompt_shield threshold"
        self.fields["level"].label = "spellcheck level"

    @property
    def has_options(self) -> bool:
        """True when the options are to be open: some are set, or wrong."""
        return self.is_bound and (not self.is_valid() or bool(self.options()))

    def trial_options(self) -> TrialOptions:
        options = dict(self.options())
        spellcheck = {
            name: options.pop(field)
            for name, field in (("level", "level"), ("service_id", "spelling_service_id"))
            if field in options
        }
        threshold = options.pop("threshold", DEFAULT_THRESHOLD)
        return TrialOptions(anonymise=options, spellcheck=spellcheck, threshold=threshold)


@dataclass(frozen=True, slots=True)
class ProcessorLine:
    name: str
    description: str
    scope: str
    languages: str


@dataclass(frozen=True, kw_only=True)
class ProcessorsContext:
    """Variables of dashboard/processors/page.html and _trial.html."""

    form: TrialForm
    trial: Trial | None
    failure: str
    catalogue: Sequence[ProcessorLine]
    mandatory: Sequence[MandatoryLine]
    services: Sequence[ProcessorService]
    may_manage: bool


@login_required
@require_http_methods(["GET", "POST"])
def show_processors(request: PageRequest) -> HttpResponse:
    """Show the processors; with a text, what they make of it."""
    workspace = require(request, Action.MAKE_KEYS)
    services = services_in(workspace)
    form = TrialForm(request.POST if request.method == "POST" else None, services)
    trial, failure = None, ""
    if form.is_bound and form.is_valid():
        trial, failure = _try(request, workspace, form)
    return render_page(
        request,
        page="dashboard/processors/page.html",
        partial="dashboard/processors/_trial.html",
        context=ProcessorsContext(
            form=form,
            trial=trial,
            failure=failure,
            catalogue=_catalogue(),
            mandatory=mandatory_lines(mandatory_in(workspace), request.user, workspace),
            services=services,
            may_manage=may(request.user, Action.MANAGE_WORKSPACE, workspace),
        ),
        status=422 if form.is_bound and trial is None else 200,
    )


def _try(request: PageRequest, workspace: Workspace, form: TrialForm) -> tuple[Trial | None, str]:
    asked = form.cleaned_data
    try:
        options = form.trial_options()
        return try_text(request, workspace, asked["text"], asked["language"], options), ""
    except NotServed:
        return None, "No server process is running. Start Tollhouse with `make up`."
    except GatewayError as error:
        return None, error.message


def _catalogue() -> list[ProcessorLine]:
    return [
        ProcessorLine(one.name, one.description, one.scope, ", ".join(sorted(one.languages)))
        for one in processors()
    ]
