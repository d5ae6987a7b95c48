"""Limit rules as options of commands, and as --json shows them."""

from __future__ import annotations

from argparse import ArgumentParser, BooleanOptionalAction

from accounts.management.limit_options import NONE
from accounts.untyped import Arguments, Options
from gateway.core.money import format_usd, read_usd
from keys.limit_values import NUSD_PER_MICRO_USD, LimitValues
from keys.limit_words import ALGORITHMS, METRICS, limit_words
from keys.models import LimitRule

COST = "cost"
# As --metric takes them.
_METRICS = [COST if name == LimitRule.Metric.COST else str(name) for name in METRICS]


def add_limit_values(parser: ArgumentParser) -> None:
    parser.add_argument("--metric", choices=_METRICS, help="What is counted.")
    parser.add_argument("--maximum", metavar="N|USD", help="Maximum. For cost: USD.")
    parser.add_argument("--period", choices=LimitRule.Period.values)
    parser.add_argument(
        "--algorithm", choices=list(ALGORITHMS), help="How it is counted. Default: rolling."
    )
    parser.add_argument(
        "--burst",
        metavar=f"N|USD|{NONE}",
        help="How much a token_bucket holds. Default: the maximum.",
    )
    parser.add_argument(
        "--per-request", action="store_true", help="Limit each single request instead of a period."
    )
    parser.add_argument(
        "--only-model",
        action="append",
        metavar="NAME",
        help=f"Count only calls to this model or pattern. Repeatable; {NONE}: all models.",
    )
    parser.add_argument("--label", help="A note for people.")
    parser.add_argument(
        "--enabled", action=BooleanOptionalAction, help="Enable or disable the limit."
    )


def read_limit_values(options: Options, stored: LimitValues | None = None) -> Arguments:
    """Return the values that were named, as keys.limit_rules takes them.

    stored: those of the limit that is changed. Raises ValueError with a sentence.
    """
    metric = options["metric"] or (stored["metric"] if stored else "")
    if not metric:
        raise ValueError(f"Choose a metric with --metric: {', '.join(_METRICS)}.")
    metric = LimitRule.Metric.COST.value if metric == COST else metric
    named: dict[str, object] = {"metric": metric}
    if (text := options["maximum"]) is not None:
        named["maximum"] = _read_amount(metric, text, "maximum")
    if (text := options["burst"]) is not None:
        named["burst"] = None if text == NONE else _read_amount(metric, text, "burst")
    if (names := options["only_model"]) is not None:
        named["only_models"] = [] if names == [NONE] else names
    for name in ("period", "algorithm", "label"):
        if options[name] is not None:
            named[name] = options[name]
    if options["per_request"]:
        named["per_request"] = True
    if options["enabled"] is not None:
        named["is_enabled"] = options["enabled"]
    return named


def write_limit_rule(rule: LimitRule) -> dict[str, object]:
    """Return a limit as --json shows it. Cost in micro-USD, and in USD as text."""
    is_cost = rule.metric == LimitRule.Metric.COST
    unit = NUSD_PER_MICRO_USD if is_cost else 1
    return {
        "rule_id": str(rule.pk),
        "level": rule.level,
        "workspace_id": str(rule.workspace_id) if rule.workspace_id else None,
        "member": rule.membership.user.email if rule.membership else None,
        "key_id": str(rule.key_id) if rule.key_id else None,
        "model": rule.model or None,
        "limit": limit_words(rule),
        "metric": rule.metric,
        "maximum": rule.maximum // unit,
        **({"maximum_usd": format_usd(rule.maximum)} if is_cost else {}),
        "period": rule.period or None,
        "algorithm": rule.algorithm or None,
        "burst": None if rule.burst is None else rule.burst // unit,
        "per_request": rule.per_request,
        "only_models": rule.only_models,
        "label": rule.label,
        "enabled": rule.is_enabled,
    }


def _read_amount(metric: str, text: str, name: str) -> int:
    if metric == LimitRule.Metric.COST:
        return read_usd(text)
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"{name}: {text[:40]!r} is not a whole number.")
    return int(text)
