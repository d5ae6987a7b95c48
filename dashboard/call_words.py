"""Statuses and charge bases of calls in words, for people who have not read the code."""

from __future__ import annotations

from dataclasses import dataclass

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
