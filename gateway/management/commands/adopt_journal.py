"""adopt_journal: replay the journal of a dead process of another host."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from gateway.core.money import format_usd
from gateway.services.adopting import adopt_journal


class Command(JsonCommand):
    help = (
        "Post the journal of a dead process of another host, from a shared or copied folder."
        " The folder is not changed."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "folder", type=Path, help="The journal of one process: journal/<process> of its home."
        )
        parser.add_argument(
            "--accept-damage",
            action="store_true",
            help="Post the readable part of a damaged journal. `prove` lists the rest.",
        )

    def answer(self, *, folder: Path, accept_damage: bool, **options: object) -> Answer:
        adopted = adopt_journal(folder, actor=ACTOR, accepts_damage=accept_damage)
        return {
            "process_id": str(adopted.process.pk),
            "host": adopted.process.host,
            "records": adopted.records,
            "aborted_calls": adopted.aborted_calls,
            "returned_nusd": adopted.returned_nusd,
            "faults": adopted.faults,
        }

    def describe(self, answer: Answer) -> str:
        returned_nusd = answer["returned_nusd"]
        assert isinstance(returned_nusd, int)
        lines = [
            f"The journal of process {answer['process_id']} on {answer['host']} is posted:"
            f" {answer['records']} records.",
            f"{answer['aborted_calls']} calls were running and are not charged."
            f" {format_usd(returned_nusd)} USD was released to the wallets.",
        ]
        if answer["faults"]:
            lines.append("Some records could not be posted: `manage.py prove` lists them.")
        return "\n".join(lines)
