"""add_model: a public model, its prices and its first target."""

from __future__ import annotations

from argparse import ArgumentParser

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from gateway.core.operations import has_output_tokens
from gateway.management.catalogue_options import (
    MODEL_OPTION_NAMES,
    add_model_options,
    add_price_option,
    confirmed_by,
    get_provider,
    read_model_options,
    read_price_option,
    read_unit_prices,
    write_model,
)
from gateway.services.models import add_model


class Command(JsonCommand):
    help = "Add a model that callers can use. Prices are USD per million tokens."
    option_names = MODEL_OPTION_NAMES

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="Model name that callers use.")
        parser.add_argument("--provider", required=True, help="Provider name.")
        parser.add_argument("--native", default="", help="Provider model ID.")
        parser.add_argument("--input", required=True, metavar="USD", help="Price of prompt tokens.")
        parser.add_argument(
            "--output",
            metavar="USD",
            help="Price of completion tokens. Required unless the operation has none.",
        )
        parser.add_argument(
            "--cached-input",
            metavar="USD",
            help="Price of cached prompt tokens. Default: the price of prompt tokens.",
        )
        add_price_option(parser)
        parser.add_argument("--max-output", type=int, required=True, metavar="TOKENS")
        add_model_options(parser)

    def answer(
        self,
        *,
        name: str,
        provider: str,
        native: str,
        input: str,
        output: str | None,
        cached_input: str | None,
        price: list[str] | None,
        max_output: int,
        free: bool,
        operation: str | None,
        **options: object,
    ) -> Answer:
        with confirmed_by():
            model = add_model(
                name=name,
                provider=get_provider(provider),
                native_model=native,
                input_pusd=read_price_option("--input", input),
                output_pusd=_read_output_price(output, operation),
                cached_input_pusd=(
                    read_price_option("--cached-input", cached_input) if cached_input else None
                ),
                unit_prices=read_unit_prices(price),
                max_output_tokens=max_output,
                actor=ACTOR,
                may_be_free=free,
                **read_model_options({**options, "operation": operation}),
            )
        return write_model(model)

    def describe(self, answer: Answer) -> str:
        return "Model {name} is added, served by {provider} as {native_model}.".format(**answer)


def _read_output_price(output: str | None, operation: str | None) -> int:
    """Return pico-USD per token, 0 where there are no output tokens. Raises ValueError."""
    if output is not None:
        return read_price_option("--output", output)
    if has_output_tokens(operation or ""):
        raise ValueError("--output: Enter the price of completion tokens.")
    return 0
