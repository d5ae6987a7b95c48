"""import_prices: import the price list, and give models the prices it has."""

from __future__ import annotations

from argparse import ArgumentParser

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from gateway.core.money import format_price
from gateway.core.units import UNITS
from gateway.models import LanguageModel
from gateway.services.price_list.applying import (
    ModelDifference,
    model_differences,
    take_listed_prices,
)
from gateway.services.price_list.importing import PriceChange, import_price_list, plan_import

SHOWN = 20


class Command(JsonCommand):
    help = (
        "Compare the price list that Tollhouse comes with (genai-prices) with the one imported "
        "last. --confirm imports it. Prices of models change only with --take or --take-all."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--confirm", action="store_true", help="Import the differences.")
        which = parser.add_mutually_exclusive_group()
        which.add_argument(
            "--take",
            action="append",
            metavar="MODEL",
            help="Use the listed prices and context window for this model. Repeatable.",
        )
        which.add_argument(
            "--take-all",
            action="store_true",
            help="Use them for every model whose prices differ from the list.",
        )

    def answer(
        self, *, confirm: bool, take: list[str] | None, take_all: bool, **_: object
    ) -> Answer:
        plan = plan_import()
        if confirm:
            import_price_list(token=plan.token, actor=ACTOR)
        names = [found.model.name for found in model_differences()] if take_all else take or []
        taken = take_listed_prices(names, actor=ACTOR) if names else []
        return {
            "source": plan.source,
            "imported": confirm,
            "new": plan.new,
            "changed": plan.changed,
            "gone": len(plan.gone),
            "changes": [_write_change(change) for change in plan.changes],
            "models_changed": taken,
            "models_different": [_write_difference(found) for found in model_differences()],
        }

    def describe(self, answer: Answer) -> str:
        changes, models = answer["changes"], answer["models_different"]
        assert isinstance(changes, list)
        assert isinstance(models, list)
        lines = ["{source}: {new} new, {changed} changed.".format(**answer)]
        if not changes:
            lines = ["{source} is imported.".format(**answer)]
        elif answer["imported"]:
            lines.append("Imported.")
        else:
            lines += [_describe_change(change) for change in changes[:SHOWN]]
            if len(changes) > SHOWN:
                lines.append(f"  and {len(changes) - SHOWN:,} more: see --json")
            lines.append("Not imported yet: add --confirm.")
        if taken := answer["models_changed"]:
            assert isinstance(taken, list)
            lines.append(f"Prices changed: {', '.join(taken)}.")
        for found in models:
            told = ", ".join(f"{unit} {ours} → {listed}" for unit, ours, listed in found["prices"])
            lines.append(f"Differs from the list: {found['model']}: {told}")
        if models:
            lines.append("Use listed prices with --take MODEL or --take-all.")
        return "\n".join(lines)


def _write_change(change: PriceChange) -> dict[str, object]:
    after = change.after
    return {
        "kind": after.kind,
        "model": after.model_id,
        "from": after.effective_from.isoformat() if after.effective_from else None,
        "before": None if change.before is None else _write_prices(change.before.prices),
        "after": _write_prices(after.prices),
        "context_tokens": after.context_tokens,
        "note": after.note,
    }


def _write_prices(prices: dict[str, int]) -> dict[str, str]:
    return {name: format_price(pusd, UNITS[name]) for name, pusd in prices.items()}


def _describe_change(change: dict[str, object]) -> str:
    before, after = change["before"], change["after"]
    assert isinstance(after, dict)
    old = _join(before) if isinstance(before, dict) else "new"
    return f"  {change['kind']} {change['model']}: {old} → {_join(after)}"


def _join(prices: dict[str, str]) -> str:
    return ", ".join(f"{unit} {usd}" for unit, usd in prices.items())


def _write_difference(found: ModelDifference) -> dict[str, object]:
    model: LanguageModel = found.model
    return {
        "model": model.name,
        "listed_as": found.row.model_id,
        "prices": [
            (
                price.unit.name,
                None if price.ours is None else format_price(price.ours, price.unit),
                None if price.listed is None else format_price(price.listed, price.unit),
            )
            for price in found.prices
        ],
    }
