"""Statuses and charge bases of calls in words, for people who have not read the code."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from gateway.core.error_page import FAMILIES, every_class
from gateway.core.errors import UpstreamError
from gateway.models import CallRecord

Status = CallRecord.Status
Basis = CallRecord.ChargeBasis


@dataclass(frozen=True, slots=True)
class StatusWords:
    """label: for a badge. badge: its class. meaning: one sentence."""

    label: str
    badge: str
    meaning: str


STATUS_WORDS: dict[str, StatusWords] = {
    Status.OK: StatusWords("Completed", "badge-ok", "The call completed."),
    Status.IN_PROGRESS: StatusWords("Running", "badge-live", "The call is still running."),
    Status.CANCELLED: StatusWords(
        "Cancelled", "", "The caller disconnected before the response ended."
    ),
    Status.PARTIAL: StatusWords(
        "Cut short", "badge-warn", "A workspace or key rule stopped the response early."
    ),
    Status.REFUSED: StatusWords(
        "Refused", "badge-warn", "The call was refused. Nothing was sent to a provider or held."
    ),
    Status.UPSTREAM_ERROR: StatusWords(
        "Provider error", "badge-bad", "No provider returned a complete response."
    ),
    Status.PLATFORM_ABORTED: StatusWords(
        "Aborted", "badge-bad", "The gateway failed or stopped during the call."
    ),
}

BASIS_WORDS: dict[str, str] = {
    Basis.USAGE: "Charged by the provider's token counts.",
    Basis.ESTIMATE: (
        "The provider reported no token counts. The gateway counted the delivered tokens."
    ),
    Basis.ZERO_PLATFORM: "Not charged: gateway error.",
    Basis.ZERO_UPSTREAM: "Not charged: provider error.",
    Basis.ZERO_EMPTY: "Not charged: no output was delivered.",
}


def basis_words(call: CallRecord) -> str:
    """Return why the call was charged what it was charged."""
    if call.status == Status.IN_PROGRESS:
        return "Not charged yet. The hold covers the most expensive possible outcome."
    if call.status == Status.REFUSED:
        return "Not charged: the call was refused."
    return BASIS_WORDS.get(call.charge_basis, "Not charged.")


def error_words(call: CallRecord) -> str:
    """Return what the call's error code means, "" where it has none. Some have several meanings."""
    is_providers = call.status == Status.UPSTREAM_ERROR
    meanings = _meanings(is_providers).get(call.error_code) or _meanings(not is_providers).get(
        call.error_code, ()
    )
    return " Or: ".join(meanings)


def provider_error_words(code: str) -> str:
    """Return what the error code of a provider's failure means, the code itself if unknown."""
    return " Or: ".join(_meanings(is_providers=True).get(code, (code,)))


@cache
def _meanings(is_providers: bool) -> dict[str, tuple[str, ...]]:
    """Return the meanings of each code, of what providers do or of all else."""
    found: dict[str, tuple[str, ...]] = {}
    for cls in every_class():
        known = found.get(cls.code, ())
        is_wanted = issubclass(cls, UpstreamError) == is_providers and cls not in FAMILIES
        if is_wanted and cls.meaning not in known:
            found[cls.code] = (*known, cls.meaning)
    return found
