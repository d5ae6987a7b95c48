"""A provider's credentials as a table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from dashboard.ui.tables import Column, Layout, Shown, Table
from gateway.models import Provider, ProviderCredential
from gateway.services.credential_encryption import DecryptionFailed
from gateway.services.provider_credentials import open_credential

STORED = ProviderCredential.Source.STORED
DYNAMIC = ProviderCredential.Source.DYNAMIC


@dataclass(frozen=True, slots=True)
class ListedCredential:
    """A row of the list. until: when its rest ends. reason: why it rests or cannot be used."""

    credential: ProviderCredential
    label: str
    badge: str
    until: datetime | None = None
    reason: str = ""

    @property
    def where(self) -> str:
        """Where it is; of a stored one its last characters."""
        row = self.credential
        if row.source == STORED:
            return f"…{row.hint}" if row.hint else "Stored"
        return f"{row.source}::{row.variable}"

    @property
    def limits(self) -> str:
        row = self.credential
        per_minute = f"{row.requests_per_minute:,} per minute" if row.requests_per_minute else ""
        at_once = f"{row.max_concurrent:,} at once" if row.max_concurrent else ""
        return ", ".join(filter(None, (per_minute, at_once)))


_LAYOUT = Layout[ListedCredential](
    name="credential",
    label="Credentials",
    cells="dashboard/providers/_credential_cells.html",
    columns=(
        Column("name", "Name", grows=True),
        Column("state", "State"),
        Column("where", "Credential", shown=Shown.WIDE, cell_css="mono"),
        Column("weight", "Weight", is_number=True, shown=Shown.WIDE),
        Column("actions", "Actions", is_head_hidden=True),
    ),
    row_id=lambda row: row.credential.pk,
    is_faded=lambda row: not row.credential.enabled,
    opens=False,
)


def credential_table(provider: Provider) -> Table[ListedCredential]:
    return _LAYOUT.fill([_list(provider, row) for row in provider.credentials.all()])


def _list(provider: Provider, row: ProviderCredential) -> ListedCredential:
    row.provider = provider
    if not row.enabled:
        return ListedCredential(row, "Disabled", "")
    if row.source != DYNAMIC:
        try:
            problem = open_credential(row).problem
        except DecryptionFailed as error:
            problem = f"It cannot be decrypted. {error}"
        if problem:
            return ListedCredential(row, "Unusable", "badge-bad", reason=problem)
    if row.rests_until is not None and row.rests_until > timezone.now():
        return ListedCredential(row, "Resting", "badge-warn", row.rests_until, _reason(row))
    if row.failure == "provider_auth":
        return ListedCredential(row, "Failing", "badge-bad", reason=_reason(row))
    label = "With each call" if row.source == DYNAMIC else "Enabled"
    return ListedCredential(row, label, "badge-ok", reason="")


def _reason(row: ProviderCredential) -> str:
    if row.failure == "provider_rate_limit":
        return "The provider’s rate limit was exceeded."  # noqa: RUF001
    return row.failure_message or "The provider rejected it."
