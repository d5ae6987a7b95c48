"""The models that a provider says it has, to pick from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.permissions import Action
from dashboard.forms.values import FormValues
from dashboard.http.current_workspace import require_operator
from dashboard.http.htmx import PageRequest, variables
from dashboard.http.query_params import read_text
from dashboard.ui.tables import Column, Empty, Layout, Shown, Table
from gateway.core.money import format_price
from gateway.core.units import UNITS
from gateway.models import ListPrice, Provider, Target
from gateway.selectors.catalogue import provider_names
from gateway.services.price_list.applying import current_rows, find_listed
from gateway.services.provider_tests import check_connection

MODELS_SHOWN = 500


@dataclass(frozen=True)
class OfferedModel:
    """One model of a provider's list. row: what the price list says of it. is_added: a model here
    has it as a target."""

    provider: str
    native_model: str
    row: ListPrice | None
    is_added: bool

    @property
    def input_pusd(self) -> int | None:
        return self.row.prices.get("prompt") if self.row else None

    @property
    def output_pusd(self) -> int | None:
        return self.row.prices.get("completion") if self.row else None


@dataclass(frozen=True)
class ProviderModelsContext:
    """Variables of dashboard/models/provider_models.html. failure: why the list cannot be shown."""

    providers: list[str]
    provider: str
    query: str
    table: Table[OfferedModel] | None
    failure: str


_LAYOUT = Layout[OfferedModel](
    name="provider-model",
    label="Models of the provider",
    cells="dashboard/models/_provider_model_cells.html",
    columns=(
        Column("model", "Provider model ID", grows=True),
        Column("input", "Input", is_number=True, shown=Shown.WIDE, suffix=" / 1M"),
        Column("output", "Output", is_number=True, shown=Shown.WIDE, suffix=" / 1M"),
        Column("context", "Context", is_number=True, shown=Shown.WIDER),
        Column("add", "Add", is_head_hidden=True),
    ),
    opens=False,
)


@login_required
@require_GET
def list_provider_models(request: PageRequest) -> HttpResponse:
    """Ask the provider for its models, and list them with what the price list says."""
    require_operator(request, Action.MANAGE_CATALOGUE)
    name, query = request.GET.get("provider", "").replace("\0", "")[:60], read_text(request.GET)
    provider = Provider.objects.filter(name=name).first()
    table, failure = (None, "") if provider is None else _ask(provider, query)
    context = ProviderModelsContext(
        providers=provider_names(),
        provider=provider.name if provider else "",
        query=query,
        table=table,
        failure=failure,
    )
    return render(request, "dashboard/models/provider_models.html", variables(context))


def listed_initial(provider_name: str, native_model: str) -> FormValues:
    """Return what the form of a new model begins with for a provider's model: its name, and the
    prices and the context window that the price list has for it."""
    initial: FormValues = {"provider": provider_name}
    if not native_model:
        return initial
    initial |= {"name": native_model, "native_model": native_model}
    provider = Provider.objects.filter(name=provider_name).first()
    row = find_listed(provider.kind, native_model) if provider else None
    if row is None:
        return initial
    prices: Mapping[str, int] = row.prices
    # Fields of prices are named so, but for those of the first three units.
    names = {"prompt": "input_usd", "completion": "output_usd"}
    initial["context_tokens"] = row.context_tokens
    return initial | {
        names.get(unit, f"{unit}_usd"): format_price(pusd, UNITS[unit])
        for unit, pusd in prices.items()
    }


def _ask(provider: Provider, query: str) -> tuple[Table[OfferedModel] | None, str]:
    """Return the table, or none and why."""
    finding = check_connection(provider)
    if finding.models is None:
        if finding.is_reachable:
            return None, "This provider has no list of its models."
        return None, finding.message
    added = set(Target.objects.filter(provider=provider).values_list("native_model", flat=True))
    rows = current_rows()
    found = [
        OfferedModel(provider.name, name, find_listed(provider.kind, name, rows), name in added)
        for name in sorted(finding.models)
        if query.lower() in name.lower()
    ]
    return _fill(found), ""


def _fill(found: Sequence[OfferedModel]) -> Table[OfferedModel]:
    note = "Prices in USD per million tokens, from the imported price list."
    if len(found) > MODELS_SHOWN:
        note += f" Showing the first {MODELS_SHOWN} of {len(found):,}. Search to find others."
    empty = Empty(icon="search-x", title="No matching models", text="Try a shorter search.")
    return _LAYOUT.fill(found[:MODELS_SHOWN], empty=empty, note=note)
