"""create_workspace: add a workspace, with credit and an owner."""

from __future__ import annotations

from argparse import ArgumentParser

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from accounts.models import User, Wallet
from accounts.services import create_workspace
from gateway.core.money import format_usd, read_usd


class Command(JsonCommand):
    help = "Create a workspace with its wallet."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("name")
        parser.add_argument("--credit", default="0", metavar="USD", help="Initial credit in USD.")
        parser.add_argument(
            "--owner", metavar="EMAIL", help="Email of the owner, who must have an account."
        )

    def answer(self, *, name: str, credit: str, owner: str | None, **options: object) -> Answer:
        workspace = create_workspace(
            name=name,
            credit_nusd=read_usd(credit),
            owner=_get_user(owner) if owner else None,
            actor=ACTOR,
        )
        balance_nusd = Wallet.objects.get(workspace=workspace).posted_nusd
        return {
            "workspace_id": str(workspace.pk),
            "slug": workspace.slug,
            "name": workspace.name,
            "balance_nusd": balance_nusd,
            "balance_usd": format_usd(balance_nusd),
        }

    def describe(self, answer: Answer) -> str:
        return "Workspace {slug} ({workspace_id}) has {balance_usd} USD.".format(**answer)


def _get_user(email: str) -> User:
    user = User.objects.filter(email=email.lower()).first()
    if user is None:
        raise LookupError(f"No account has the email {email[:254]}.")
    return user
