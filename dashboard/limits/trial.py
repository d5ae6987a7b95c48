"""What a limit would have refused of the last days' calls, before it is set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dashboard.forms.values import FormValues
from gateway.core.json_types import JsonObject
from gateway.launch.limit_trial import DAYS, LATEST, TrialFailed, try_limit
from keys.limit_rules import RuleHolder, unsaved_rule

# Of the button that asks for it.
BUTTON = "try"


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What the form shows of it. failure: why there is none; empty where there is one."""

    failure: str = ""
    days: int = DAYS
    calls: int = 0
    refused: int = 0
    # Of all calls: 1 is all of them.
    share: float = 0.0
    queued: int = 0
    first: datetime | None = None
    last: datetime | None = None
    # Those with most refused calls, and how many.
    keys: Sequence[tuple[str, int]] = ()
    # Since when calls were read, where there were more than `latest`.
    since: datetime | None = None
    latest: int = LATEST
    assumptions: Sequence[str] = ()


def try_values(holder: RuleHolder, values: FormValues) -> Trial:
    """values: as keys.limit_rules takes them; the limit is tried as if it were enabled. Raises
    ValidationError."""
    rule = unsaved_rule(holder, {**values, "is_enabled": True})
    try:
        found = try_limit(rule)
    except TrialFailed as error:
        return Trial(failure=str(error))
    return _read(found)


def _read(found: JsonObject) -> Trial:
    [rule] = found["rules"]
    return Trial(
        calls=found["calls"],
        refused=found["refused"],
        share=found["share"],
        queued=found["queued"],
        first=_moment(rule["first"]),
        last=_moment(rule["last"]),
        keys=[(key["label"] or key["key_id"], key["refused"]) for key in rule["keys"]],
        since=_moment(found["from"]) if found["is_shortened"] else None,
        assumptions=found["assumptions"],
    )


def _moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
