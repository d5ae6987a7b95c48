"""set_model: change a model: its prices, limits and capabilities."""

from __future__ import annotations

from argparse import ArgumentParser, BooleanOptionalAction
from typing import cast

from django.db import transaction

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from gateway.management.catalogue_options import (
    MODEL_OPTION_NAMES,
    add_model_options,
    add_price_option,
    confirmed_by,
    read_model_options,
    read_price_option,
    read_unit_prices,
    write_model,
)
from gateway.models import LanguageModel
from gateway.selectors.catalogue import get_model
from gateway.services.models import (
    ModelFields,
    UnitPrices,
    check_operation_change,
    set_model_enabled,
    set_prices,
    update_model,
)


class Command(JsonCommand):
    help = (
        "Change a model; other settings stay as they are. Changes apply within a second. "
        "Prices are USD per million tokens."
    )
    option_names = MODEL_OPTION_NAMES

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="Model name that callers use.")
        parser.add_argument("--input", metavar="USD", help="Price of prompt tokens.")
        parser.add_argument("--output", metavar="USD", help="Price of completion tokens.")
        parser.add_argument("--cached-input", metavar="USD", help="Price of cached prompt tokens.")
        add_price_option(parser)
        parser.add_argument("--max-output", type=int, metavar="TOKENS")
        parser.add_argument(
            "--enabled", action=BooleanOptionalAction, help="Enable or disable the model."
        )
        parser.add_argument(
            "--confirm-price",
            action="store_true",
            help="Confirm a price of 10 times as much as before or a tenth.",
        )
        add_model_options(parser)

    @transaction.atomic
    def answer(
        self,
        *,
        name: str,
        input: str | None,
        output: str | None,
        cached_input: str | None,
        price: list[str] | None,
        max_output: int | None,
        enabled: bool | None,
        free: bool,
        confirm_price: bool,
        **options: object,
    ) -> Answer:
        model = get_model(name)
        fields = cast(ModelFields, read_model_options(options))
        if max_output is not None:
            fields["max_output_tokens"] = max_output
        operation = model.operation
        changed = [
            update_model(model, actor=ACTOR, **fields),
            _set_prices(
                *(model, input, cached_input, output),
                read_unit_prices(price),
                may_be_free=free,
                may_jump=confirm_price,
            ),
        ]
        with confirmed_by():
            check_operation_change(model, operation, may_be_free=free)
        if enabled is not None:
            changed.append(set_model_enabled(model, enabled=enabled, actor=ACTOR))
        return {"changed": any(changed)} | write_model(model)

    def describe(self, answer: Answer) -> str:
        return "Model {name} is {}.".format(
            "changed" if answer["changed"] else "as it was", **answer
        )


def _set_prices(
    model: LanguageModel,
    input: str | None,
    cached_input: str | None,
    output: str | None,
    unit_prices: UnitPrices,
    **confirmed: bool,
) -> bool:
    """Set the prices that are given. A cached price that was the input's stays the input's."""
    cached_pusd: int | None = model.cached_input_pusd_per_token
    if cached_input is not None:
        cached_pusd = read_price_option("--cached-input", cached_input)
    elif cached_pusd == model.input_pusd_per_token:
        cached_pusd = None
    input_pusd, output_pusd = model.input_pusd_per_token, model.output_pusd_per_token
    if input is not None:
        input_pusd = read_price_option("--input", input)
    if output is not None:
        output_pusd = read_price_option("--output", output)
    with confirmed_by():
        return set_prices(
            model,
            input_pusd=input_pusd,
            output_pusd=output_pusd,
            cached_input_pusd=cached_pusd,
            unit_prices=unit_prices,
            actor=ACTOR,
            **confirmed,
        )
