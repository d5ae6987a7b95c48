"""declare_lost: end a dead process whose journal nobody has any more."""

from __future__ import annotations

from argparse import ArgumentParser
from uuid import UUID

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from gateway.core.money import format_usd
from gateway.services.declaring_lost import declare_lost, find_worst_case

ACCEPT_LOSS = (
    "Declare it lost. Open calls end without a charge, and you bear their cost. Without this option"
    " the command only shows the maximum loss."
)


class Command(JsonCommand):
    help = "Show the maximum cost of losing the journal of a dead process, and declare it lost."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "process", type=UUID, help="Process ID, as `prove` and the page Hosts show it."
        )
        parser.add_argument("--accept-loss", action="store_true", help=ACCEPT_LOSS)

    def answer(self, *, process: UUID, accept_loss: bool, **options: object) -> Answer:
        row = find_worst_case(process)
        answer = row.as_json() | {"at_most_nusd": row.reserved_nusd, "declared": accept_loss}
        if accept_loss:
            loss = declare_lost(process, actor=ACTOR)
            answer |= {
                "open_calls": loss.open_calls,
                "held_nusd": loss.held_nusd,
                "at_most_nusd": loss.reserved_nusd,
            }
        return answer

    def describe(self, answer: Answer) -> str:
        amounts = {
            name: format_usd(int(str(answer[name])))
            for name in ("held_nusd", "at_most_nusd", "budgets_nusd")
        }
        lines = [
            f"Process {answer['process_id']} on {answer['host']} ({answer['home']}),"
            f" silent since {answer['silent_since']}:",
            f"  {answer['open_calls']} open calls, which hold {amounts['held_nusd']} USD",
            f"  {amounts['at_most_nusd']} USD reserved: the maximum cost of its calls",
            f"  {amounts['budgets_nusd']} USD of budgets of keys, members and workspaces",
        ]
        if answer["declared"]:
            lines.append(
                "Declared lost. The open calls ended without a charge, and the money was released"
                " to the wallets."
            )
        else:
            lines.append("Nothing was changed. To declare the journal lost, add --accept-loss.")
        return "\n".join(lines)
