"""backup: write the database, the journals and the secrets to a new folder."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import CommandError

from accounts.management.json_command import Answer, JsonCommand
from gateway.launch.backup import make_backup
from gateway.launch.failure import CannotStart


class Command(JsonCommand):
    help = (
        "Back up the database, the journals and the secrets to a new folder. The server can keep "
        "running."
    )
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("path", type=Path, help="Folder to create. It contains secrets.")

    def answer(self, *, path: Path, **options: object) -> Answer:
        try:
            manifest = make_backup(path)
        except CannotStart as error:
            raise CommandError(str(error)) from None
        return {
            "path": str(path.resolve()),
            "created_at": manifest.created_at.isoformat(),
            "version": manifest.version,
            "database": manifest.database,
            "files": len(manifest.files),
            "bytes": sum(file.size_bytes for file in manifest.files.values()),
            "missing_journals": manifest.missing_journals + manifest.other_hosts,
        }

    def describe(self, answer: Answer) -> str:
        lines = [
            f"Backup written to {answer['path']} ({answer['database']}, {answer['bytes']} bytes). "
            "It contains secrets: encrypt it before you copy it elsewhere."
        ]
        if answer["missing_journals"]:
            lines.append(
                f"Journals of {answer['missing_journals']} server processes are on other hosts or "
                "missing. Calls that are only in them are not in the backup."
            )
        return "\n".join(lines)
