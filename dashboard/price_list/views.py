"""The price list of providers, for operators: import it, and take its prices over."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from accounts.permissions import Action
from dashboard.http.current_workspace import require_operator
from dashboard.http.htmx import PageRequest, go_to, variables
from dashboard.price_list.table import change_table, difference_table
from dashboard.ui.tables import Table
from gateway.services.price_list.applying import (
    ModelDifference,
    model_differences,
    take_listed_prices,
)
from gateway.services.price_list.importing import (
    ImportPlan,
    PriceChange,
    import_price_list,
    plan_import,
)

MAX_NAMES = 1_000


@dataclass(frozen=True)
class PriceListContext:
    """Variables of dashboard/price_list/page.html."""

    plan: ImportPlan
    changes: Table[PriceChange]
    differences: Table[ModelDifference]


@login_required
@require_GET
def show_price_list(request: PageRequest) -> HttpResponse:
    require_operator(request, Action.MANAGE_CATALOGUE)
    plan = plan_import()
    context = PriceListContext(plan, change_table(plan), difference_table(model_differences()))
    return render(request, "dashboard/price_list/page.html", variables(context))


@login_required
@require_POST
def import_prices(request: PageRequest) -> HttpResponse:
    """Import the changes that were shown."""
    require_operator(request, Action.MANAGE_CATALOGUE)
    try:
        plan = import_price_list(token=request.POST.get("token", ""), actor=request.user.email)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        told = f"{plan.new:,} new and {plan.changed:,} changed prices"
        messages.success(request, f"{told} are imported. Prices of models did not change.")
    return go_to(request, reverse("dashboard:model-price-list"))


@login_required
@require_POST
def take_prices(request: PageRequest) -> HttpResponse:
    """Give the chosen models the prices of the list."""
    require_operator(request, Action.MANAGE_CATALOGUE)
    names = request.POST.getlist("model")[:MAX_NAMES]
    try:
        changed = take_listed_prices(names, actor=request.user.email)
    except (LookupError, ValidationError) as error:
        told = " ".join(error.messages) if isinstance(error, ValidationError) else error.args[0]
        messages.error(request, told)
    else:
        if changed:
            messages.success(request, f"Prices changed within a second: {', '.join(changed)}.")
        else:
            messages.info(request, "Choose the models that get listed prices.")
    return go_to(request, reverse("dashboard:model-price-list"))
