"""set_storage: how much a workspace stores, and may store."""

from __future__ import annotations

from argparse import ArgumentParser

from django.template.defaultfilters import filesizeformat

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from accounts.selectors import get_workspace
from gateway.selectors.files import find_storage
from gateway.services.files.limits import limits_of, set_storage_limits

MB = 1024 * 1024
OPTION_NAMES = {
    "max_file_bytes": "--max-file-mb",
    "max_files": "--max-files",
    "max_storage_bytes": "--max-storage-mb",
}


class Command(JsonCommand):
    help = (
        "Show the stored files of a workspace, or set its storage limits. Limits apply to the next "
        "upload; files already stored are kept."
    )
    option_names = OPTION_NAMES

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("workspace", help="Workspace slug or ID.")
        parser.add_argument("--max-file-mb", type=int, help="Maximum file size in MB.")
        parser.add_argument("--max-files", type=int, help="Maximum number of files.")
        parser.add_argument("--max-storage-mb", type=int, help="Maximum total size in MB.")
        parser.add_argument(
            "--usual",
            action="store_true",
            help="Use the installation's limits for those not given.",
        )

    def answer(
        self,
        *,
        workspace: str,
        max_file_mb: int | None,
        max_files: int | None,
        max_storage_mb: int | None,
        usual: bool,
        **_: object,
    ) -> Answer:
        found = get_workspace(workspace)
        asked = {
            "max_file_bytes": None if max_file_mb is None else max_file_mb * MB,
            "max_files": max_files,
            "max_storage_bytes": None if max_storage_mb is None else max_storage_mb * MB,
        }
        changes = {name: value for name, value in asked.items() if usual or value is not None}
        if changes:
            set_storage_limits(found, actor=ACTOR, limits=changes)
        storage = find_storage(found.pk)
        return {
            "workspace": found.slug,
            "files": 0 if storage is None else storage.files,
            "size_bytes": 0 if storage is None else storage.size_bytes,
            **limits_of(storage)._asdict(),
        }

    def describe(self, answer: Answer) -> str:
        # A plain space, where pages need one that does not break.
        sizes = {
            name: filesizeformat(str(answer[name])).replace("\xa0", " ")
            for name in ("size_bytes", "max_storage_bytes", "max_file_bytes")
        }
        return (
            "{workspace} stores {files} files, {size_bytes}. It may store {max_files} files, "
            "{max_storage_bytes} in total and {max_file_bytes} per file."
        ).format(**answer | sizes)
