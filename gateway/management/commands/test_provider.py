"""test_provider: test whether a provider is reachable and accepts the credential."""

from __future__ import annotations

from argparse import ArgumentParser

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from gateway.management.catalogue_options import get_provider
from gateway.models import Provider
from gateway.services.provider_calls import make_test_call
from gateway.services.provider_tests import check_connection


class Command(JsonCommand):
    help = (
        "Test the connection to a provider, as its page does. It requests the list of models, "
        "which is free. With --call it makes one real call for one token of output, which the "
        "provider bills. The exit status is 0 whatever the result: see `reachable`."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="Provider name.")
        parser.add_argument(
            "--call",
            action="store_true",
            help="Make a real call. No workspace is charged; the provider bills it.",
        )
        parser.add_argument(
            "--model", default="", help="With --call: any model ID. Default: the first it serves."
        )
        parser.add_argument(
            "--credential",
            default="",
            help="With --call: the name of one. Default: the first that is enabled.",
        )

    def answer(
        self, *, name: str, call: bool, model: str, credential: str, **options: object
    ) -> Answer:
        provider = get_provider(name)
        if call:
            return _call(provider, model, credential)
        if model or credential:
            raise ValueError("--model and --credential are for --call.")
        finding = check_connection(provider)
        return {
            "name": provider.name,
            "base_url": provider.base_url,
            "reachable": finding.is_reachable,
            "outcome": finding.outcome.value,
            "message": finding.message,
            "models": None if finding.models is None else sorted(finding.models),
        }

    def describe(self, answer: Answer) -> str:
        return "{name} at {base_url}: {message}".format(**answer)


def _call(provider: Provider, model: str, credential: str) -> Answer:
    made = make_test_call(provider, model=model, credential=credential, actor=ACTOR)
    return {
        "name": provider.name,
        "base_url": provider.base_url,
        "model": made.model,
        "credential": made.credential or None,
        "reachable": made.finding.is_reachable,
        "outcome": made.finding.outcome.value,
        "message": made.finding.message,
    }
