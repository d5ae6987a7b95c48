"""The forms of a page of budgets. What is written is checked by the services."""

from __future__ import annotations

from datetime import datetime

from django import forms
from django.http import QueryDict
from django.utils import timezone

from accounts.budgets import list_timezones
from accounts.limits import SPENDING
from accounts.models import Workspace
from dashboard.budgets.spending import PERIODS
from dashboard.forms.service_errors import show_more_errors
from dashboard.forms.usd_field import UsdField
from dashboard.forms.values import FormValues
from dashboard.forms.version_token import version_token
from dashboard.keys.limits_form import SpendingLimitsForm
from gateway.core.calendar import find_zone
from keys.raises import FIELDS, Holder, read_end


class BudgetForm(SpendingLimitsForm):
    """The budgets of a member or a key."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    @classmethod
    def of(cls, holder: Holder, data: QueryDict | None = None) -> BudgetForm:
        form = WorkspaceBudgetForm if isinstance(holder, Workspace) else BudgetForm
        return form(data, initial=_budgets_of(holder) | {"seen": budgets_version(holder)})


class WorkspaceBudgetForm(BudgetForm):
    """Those of a workspace, and when its days begin."""

    timezone = forms.ChoiceField(
        choices=lambda: [(name, name) for name in list_timezones()],
        label="Time zone",
        help_text="Defines when days, weeks and months begin, for all budgets in this workspace.",
    )


class RaiseForm(forms.Form):
    """More of a budget that is set, until a moment in the workspace's time zone."""

    period = forms.ChoiceField(label="Budget")
    amount_nusd = UsdField(empty="5", label="Raise by (USD)", help_text="Added to the budget.")
    until = forms.DateTimeField(
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )

    def __init__(self, data: QueryDict | None, *, holder: Holder, timezone: str) -> None:
        super().__init__(data)
        self._timezone = timezone
        limited = [period for period, name in FIELDS.items() if getattr(holder, name) is not None]
        self.fields["period"].choices = [(period, PERIODS[period]) for period in limited]  # type: ignore[attr-defined]
        self.fields["until"].label = f"Until ({timezone})"

    def clean_until(self) -> datetime | None:
        until: datetime | None = self.cleaned_data["until"]
        return until and until.replace(tzinfo=find_zone(self._timezone))

    def clean(self) -> FormValues:
        cleaned: FormValues = super().clean() or {}
        show_more_errors(self, lambda: read_end(cleaned.get("until"), timezone.now()))
        if "amount_nusd" in cleaned and (cleaned["amount_nusd"] or 0) <= 0:
            self.add_error("amount_nusd", "Enter an amount above 0 USD.")
        return cleaned


def budgets_version(holder: Holder) -> str:
    """Return a token that differs when anything that the form of budgets shows differs."""
    return version_token(_budgets_of(holder))


def _budgets_of(holder: Holder) -> FormValues:
    return {
        name: getattr(holder, name) for name in (*SPENDING, "timezone") if hasattr(holder, name)
    }
