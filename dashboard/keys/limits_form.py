"""Limits as fields of forms: of a key, or of all keys of a workspace. Empty is no limit.

Field names are those of the services, so their errors fall into place.
"""

from __future__ import annotations

from django import forms

from accounts.limits import RANGES, SPENDING, read_call_limits, read_spending_limits
from dashboard.forms.service_errors import show_more_errors
from dashboard.forms.usd_field import UsdField
from dashboard.forms.values import FormValues
from keys.limits import ALL


def _count(label: str, help_text: str, empty: str = "No limit") -> forms.IntegerField:
    attrs = {"min": "1", "placeholder": empty}
    return forms.IntegerField(
        required=False,
        label=label,
        help_text=help_text,
        widget=forms.NumberInput(attrs=attrs),
    )


class CallLimitsForm(forms.Form):
    """How often and how many at a time."""

    max_requests_per_minute = _count("Requests per minute", "60 is enough for most programs.")
    burst = _count("Burst", "Requests at once. Default: the number per minute.", "Same number")
    max_concurrent = _count("Concurrent requests", "Further requests wait in a queue.")

    def clean(self) -> FormValues:
        cleaned: FormValues = super().clean() or {}
        # One with an error counts as some limit: nothing is said of what depends on it.
        wanted = {name: 1 if name in self.errors else cleaned.get(name) for name in RANGES}
        show_more_errors(self, lambda: read_call_limits(wanted))
        return cleaned

    def limits(self) -> dict[str, int | None]:
        """Return the limits of a valid form, as the services take them."""
        return {name: self.cleaned_data[name] for name in RANGES}


class SpendingLimitsForm(forms.Form):
    """How much may be spent."""

    daily_limit_nusd = UsdField(
        empty="No limit",
        label="Daily budget (USD)",
        help_text="Resets at midnight in the workspace's time zone.",
    )
    weekly_limit_nusd = UsdField(
        empty="No limit", label="Weekly budget (USD)", help_text="Resets on Mondays."
    )
    monthly_limit_nusd = UsdField(
        empty="No limit", label="Monthly budget (USD)", help_text="Resets on the 1st."
    )
    total_limit_nusd = UsdField(
        empty="No limit", label="Total budget (USD)", help_text="Resets only by hand."
    )

    def clean(self) -> FormValues:
        cleaned: FormValues = super().clean() or {}
        show_more_errors(self, lambda: read_spending_limits(cleaned))
        return cleaned

    def budgets(self) -> dict[str, int | None]:
        """Return the budgets of a valid form, as the services take them."""
        return {name: self.cleaned_data[name] for name in SPENDING}


class KeyLimitsForm(SpendingLimitsForm, CallLimitsForm):
    """All limits of a key."""

    def limits(self) -> dict[str, int | None]:
        return super().limits() | self.budgets()

    @property
    def shows_limits(self) -> bool:
        """True when there is a limit to be seen, or something to be said about one."""
        return any(self[name].value() not in (None, "") or self[name].errors for name in ALL)
