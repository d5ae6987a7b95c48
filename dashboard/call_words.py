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
    Status.OK: StatusWords("OK", "badge-ok", "The answer came to its end."),
    Status.IN_PROGRESS: StatusWords("Running", "badge-live", "The call has not ended yet."),
    Status.CANCELLED: StatusWords("Cancelled", "", "The caller left before the answer had ended."),
    Status.PARTIAL: StatusWords(
        "Cut short", "badge-warn", "A rule of the workspace or key ended the answer early."
    ),
    Status.REFUSED: StatusWords(
        "Refused", "badge-warn", "The call was not let in: nothing was sent, nothing was held."
    ),
    Status.UPSTREAM_ERROR: StatusWords(
        "Provider error", "badge-bad", "No provider of the model gave a whole answer."
    ),
    Status.PLATFORM_ABORTED: StatusWords(
        "Aborted", "badge-bad", "The gateway itself failed, or was ended, during the call."
    ),
}

BASIS_WORDS: dict[str, str] = {
    Basis.USAGE: "Charged by the token counts that the provider reported.",
    Basis.ESTIMATE: (
        "The provider reported no token counts, so the tokens delivered were counted here."
    ),
    Basis.ZERO_PLATFORM: "Not charged: the fault was the gateway's.",
    Basis.ZERO_UPSTREAM: "Not charged: the fault was the provider's.",
    Basis.ZERO_EMPTY: "Not charged: no output was delivered.",
}


def basis_words(call: CallRecord) -> str:
    """Return why the call was charged what it was charged."""
    if call.status == Status.IN_PROGRESS:
        return "Not charged yet: the hold covers the dearest way the call can end."
    if call.status == Status.REFUSED:
        return "Not charged: the call was not let in."
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
