"""test_provider: test whether a provider is reachable and accepts the credential."""

from __future__ import annotations

from argparse import ArgumentParser

from accounts.management.json_command import Answer, JsonCommand
from gateway.management.catalogue_options import get_provider
from gateway.services.provider_tests import check_connection


class Command(JsonCommand):
    help = (
        "Test the connection to a provider, as its page does. It requests the list of models, "
        "which is free. The exit status is 0 whatever the result: see `reachable`."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name", help="Provider name.")

    def answer(self, *, name: str, **options: object) -> Answer:
        provider = get_provider(name)
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
