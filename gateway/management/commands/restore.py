"""restore: make this installation what a backup has, and prove its ledger."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import cast

from django.core.management.base import CommandError

from accounts.management.json_command import Answer, JsonCommand
from gateway.launch.failure import CannotStart
from gateway.launch.restore import restore


class Command(JsonCommand):
    help = "Restore a backup and verify its ledger. Exits 1 if it does not add up."
    requires_system_checks = ()
    needs_known_database = False
    _holds = True

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("path", type=Path, help="Folder that `backup` created.")
        parser.add_argument(
            "--replace",
            action="store_true",
            help="Replace this installation. Its data is moved to a folder or schema.",
        )

    def handle(self, *, json: bool, **options: object) -> None:
        super().handle(json=json, **options)
        if not self._holds:
            raise SystemExit(1)

    def answer(self, *, path: Path, replace: bool, **options: object) -> Answer:
        try:
            restored = restore(path, replace=replace)
        except CannotStart as error:
            raise CommandError(str(error)) from None
        self._holds = restored.proof.holds
        return {
            "created_at": restored.manifest.created_at.isoformat(),
            "version": restored.manifest.version,
            "database": restored.manifest.database,
            "replaced": None if restored.aside is None else str(restored.aside),
            "replaced_schema": restored.schema_aside,
            "journal_records": restored.replayed.records,
            "aborted_calls": restored.replayed.aborted_calls,
            "holds": restored.proof.holds,
            "calls": restored.proof.calls,
            "entries": restored.proof.entries,
            "breaks": restored.proof.breaks,
            "warnings": restored.warnings,
        }

    def describe(self, answer: Answer) -> str:
        lines = [f"Restored the backup of {answer['created_at']} (version {answer['version']})."]
        if answer["replaced"]:
            lines.append(f"What was here before is in {answer['replaced']}.")
        if answer["replaced_schema"]:
            lines.append(f"The database's former tables are in schema {answer['replaced_schema']}.")
        lines.append(
            f"{answer['journal_records']} records were posted from journals. "
            f"{answer['aborted_calls']} calls were running and are not charged."
        )
        lines += cast(list[str], answer["warnings"])
        if answer["holds"]:
            lines.append(self.style.SUCCESS("PROVED: the ledger adds up to the nano-dollar."))
        else:
            lines.append(self.style.ERROR("BROKEN: run `manage.py prove` for the breaks."))
        return "\n".join(lines)
