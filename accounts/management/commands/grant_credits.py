"""grant_credits: grant credit to a workspace."""

from __future__ import annotations

from argparse import ArgumentParser

from accounts.ledger import grant
from accounts.management.json_command import ACTOR, Answer, JsonCommand
from accounts.selectors import get_workspace
from accounts.services import REASON_CHARS
from accounts.text import read_line
from gateway.core.money import format_usd, read_usd


class Command(JsonCommand):
    help = "Grant credit to a workspace."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("workspace", help="Workspace ID, slug or name.")
        parser.add_argument("usd", help="Amount in USD, such as 12.50.")
        parser.add_argument("--reason", required=True, help="Reason, shown in the ledger.")

    def answer(self, *, workspace: str, usd: str, reason: str, **options: object) -> Answer:
        amount_nusd = read_usd(usd)
        if amount_nusd <= 0:
            raise ValueError("The amount must be more than 0 USD.")
        entry = grant(
            get_workspace(workspace),
            amount_nusd=amount_nusd,
            actor=ACTOR,
            reason=read_line(reason, field="reason", max_chars=REASON_CHARS),
        )
        return {
            "workspace_id": str(entry.wallet_id),
            "entry": entry.sequence,
            "amount_nusd": amount_nusd,
            "balance_nusd": entry.balance_nusd,
            "balance_usd": format_usd(entry.balance_nusd),
        }

    def describe(self, answer: Answer) -> str:
        return "The balance is now {balance_usd} USD.".format(**answer)
