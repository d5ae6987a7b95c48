"""An API key as it reads about itself, with the budgets that its calls are charged to."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from gateway.core.budget_owner import Level
from gateway.core.json_types import JsonObject
from gateway.core.money import usd
from gateway.core.processor_rules import ProcessorRules
from gateway.processors.registry import PROCESSORS
from gateway.selectors.budget_lines import BudgetLine
from keys.models import ApiKey

Exact = Annotated[str | None, Meta(description="Exact, in nano-USD.")]


class KeyBudget(Struct, kw_only=True):
    """One budget of the key, of its member or of its workspace, for a period that has a limit."""

    level: Annotated[
        Level,
        Meta(description="Whose budget: the workspace's, the member's, or the API key's own."),
    ]
    period: Annotated[str, Meta(pattern="^(day|week|month|total)$")]
    limit: Annotated[float, Meta(description="USD, with raises that are in force.")]
    limit_nano_usd: Annotated[str, Meta(description="Exact.")]
    raised_by: Annotated[float, Meta(description="USD of the limit that end at raised_until.")]
    raised_until: Annotated[
        datetime | None, Meta(description="When the next raise ends; null without one.")
    ]
    spent: Annotated[
        float | None,
        Meta(description="USD. Null for the workspace, unless the key reads its usage."),
    ]
    spent_nano_usd: Exact
    remaining: Annotated[float | None, Meta(description="USD; running calls still count in it.")]
    remaining_nano_usd: Exact
    resets_at: Annotated[datetime | None, Meta(description="Null for the total.")]


class MandatoryProcessorEntry(Struct, kw_only=True):
    id: Annotated[str, Meta(description="Its name, as in inferada.processors.")]
    options: Annotated[
        JsonObject, Meta(description="Those of the workspace; a request's own do not count.")
    ]
    language: Annotated[
        str | None,
        Meta(description="Of the texts, beside the one that a request names. Null for any."),
    ]


class KeyReport(Struct, kw_only=True):
    id: str
    label: str
    workspace_id: str
    scopes: list[str]
    expires_at: datetime | None
    budgets: Annotated[
        list[KeyBudget], Meta(description="Calls are charged to all of them. Empty for no limit.")
    ]
    mandatory_processors: Annotated[
        list[MandatoryProcessorEntry],
        Meta(description="Calls go through them whatever they say, in this order."),
    ]
    default_plugins: Annotated[
        list[str],
        Meta(description="Calls to models with tools have them without naming them."),
    ]


class KeyResponse(Struct):
    data: KeyReport


def write_key(
    key: ApiKey,
    scopes: list[str],
    budgets: list[KeyBudget],
    rules: ProcessorRules,
    default_plugins: list[str],
) -> KeyReport:
    """rules: of the key. Processors come in the order in which they run."""
    required = [rules.required[name] for name in PROCESSORS if name in rules.required]
    return KeyReport(
        id=str(key.pk),
        label=key.label,
        workspace_id=str(key.workspace_id),
        scopes=scopes,
        expires_at=key.expires_at,
        budgets=budgets,
        mandatory_processors=[
            MandatoryProcessorEntry(
                id=one.name, options=dict(one.options), language=one.language or None
            )
            for one in required
        ],
        default_plugins=default_plugins,
    )


def write_budget(level: Level, line: BudgetLine, *, shows_spent: bool) -> KeyBudget | None:
    """Return a budget as the API shows it; None for a period without a limit."""
    limit_nusd, left_nusd = line.limit_nusd, line.left_nusd
    if limit_nusd is None or left_nusd is None:
        return None
    return KeyBudget(
        level=level,
        period=line.period,
        limit=usd(limit_nusd),
        limit_nano_usd=str(limit_nusd),
        raised_by=usd(line.raised_nusd),
        raised_until=line.raised_until,
        spent=usd(line.spent_nusd) if shows_spent else None,
        spent_nano_usd=str(line.spent_nusd) if shows_spent else None,
        remaining=usd(left_nusd) if shows_spent else None,
        remaining_nano_usd=str(left_nusd) if shows_spent else None,
        resets_at=line.resets_at,
    )
