"""Whether the installation is well, as the API shows it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct


class Health(Struct):
    status: Literal["ok"]


class Status(Struct, kw_only=True):
    status: Literal["ok", "unavailable"]
    problem: Annotated[
        str | None, Meta(description="Why no calls are admitted; null while they are.")
    ]
    version: str
    models: int
    ledger_checked_at: Annotated[datetime | None, Meta(description="Last run of `prove`.")]
    ledger_breaks: Annotated[int | None, Meta(description="Errors found by the last run.")]
    journal_faults: Annotated[
        int,
        Meta(
            description="Journal parts that were not posted as written. `manage.py prove` lists "
            "them."
        ),
    ]
    unreplayed_journals: Annotated[
        int,
        Meta(
            description="Dead processes whose journals are not posted yet: their calls are open, "
            "and their money is reserved."
        ),
    ]
