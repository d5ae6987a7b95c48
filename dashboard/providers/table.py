"""The list of providers as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse

from dashboard.providers.connection import Connection, connection_of
from dashboard.ui.tables import Column, Empty, Layout, Shown, Table
from gateway.models import Provider
from gateway.selectors.catalogue import ProviderRow


@dataclass(frozen=True, slots=True)
class ListedProvider:
    """A row of the list."""

    provider: Provider
    kind: str
    models: int
    connection: Connection
    credentials: str


_LAYOUT = Layout[ListedProvider](
    name="provider",
    label="Providers",
    cells="dashboard/providers/_cells.html",
    columns=(
        Column("provider", "Provider", grows=True),
        Column("state", "State"),
        Column("kind", "Kind", shown=Shown.WIDER, cell_css="nowrap"),
        Column("base_url", "Base URL", grows=True, shown=Shown.WIDE, cell_css="mono"),
        Column("credential", "Credential", shown=Shown.WIDE),
        Column("models", "Models", is_number=True),
    ),
    row_id=lambda row: row.provider.pk,
    is_faded=lambda row: not row.provider.enabled,
)


def provider_table(rows: Sequence[ProviderRow], query: str) -> Table[ListedProvider]:
    listed = [
        ListedProvider(
            row.provider, row.kind, row.models, connection_of(row), _credentials(row.credentials)
        )
        for row in rows
    ]
    return _LAYOUT.fill(listed, empty=_empty(query))


def _credentials(number: int) -> str:
    """Return what is said of how many there are, nothing of none."""
    return "" if not number else "Stored" if number == 1 else f"{number} credentials"


def _empty(query: str) -> Empty:
    if query:
        return Empty(
            icon="search-x",
            title="No matching providers",
            text="Try a shorter search.",
            href=reverse("dashboard:provider-list"),
            action="Clear filters",
        )
    return Empty(
        icon="plug",
        title="No providers",
        text="A provider serves models: an account with a company, or your own server.",
    )
