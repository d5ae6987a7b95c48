"""list_provider_models: the models that a provider says it has."""

from __future__ import annotations

from argparse import ArgumentParser

from accounts.management.json_command import Answer, JsonCommand
from gateway.core.money import format_price
from gateway.core.units import UNITS
from gateway.management.catalogue_options import get_provider
from gateway.models import Target
from gateway.services.price_list.applying import current_rows, find_listed
from gateway.services.provider_tests import check_connection


class Command(JsonCommand):
    help = "List the models of a provider, with prices from the imported price list."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="Provider name.")

    def answer(self, *, name: str, **_: object) -> Answer:
        provider = get_provider(name)
        finding = check_connection(provider)
        if finding.models is None:
            no_list = "This provider has no list of its models. Add them by their IDs."
            raise LookupError(no_list if finding.is_reachable else finding.message)
        added = set(Target.objects.filter(provider=provider).values_list("native_model", flat=True))
        rows = current_rows()
        models: list[dict[str, object]] = []
        for native in sorted(finding.models):
            row = find_listed(provider.kind, native, rows)
            prices = row.prices if row else {}
            models.append(
                {
                    "id": native,
                    "is_added": native in added,
                    "prices_usd": {
                        unit: format_price(pusd, UNITS[unit]) for unit, pusd in prices.items()
                    },
                    "context_tokens": row.context_tokens if row else None,
                }
            )
        return {"provider": provider.name, "models": models}

    def describe(self, answer: Answer) -> str:
        models = answer["models"]
        assert isinstance(models, list)
        return "\n".join(
            f"{model['id']}{' (added)' if model['is_added'] else ''}" for model in models
        )
