"""What the record of a call says that the balance did not cover."""

from __future__ import annotations

from gateway.admission.spending import micro_usd
from gateway.core.errors import InsufficientCredits


def lack_of_credits(error: InsufficientCredits, requested_nusd: int) -> InsufficientCredits:
    """Return the error, which says now how much was asked for. The balance is not known here."""
    error.numbers = {
        "level": "organisation",
        "limit": {"metric": "cost_micro_usd", "period": None, "max": None, "per_request": False},
        "requested": micro_usd(requested_nusd),
    }
    return error
