"""clean_files: delete what is left of files that are not there any more, now."""

from __future__ import annotations

from argparse import ArgumentParser
from dataclasses import asdict
from datetime import timedelta

from accounts.management.json_command import Answer, JsonCommand
from gateway.services.files.cleaning import clean_files


class Command(JsonCommand):
    help = (
        "Delete expired files, unfinished uploads and orphans (stored bytes without a file) now. "
        "The background worker does this every minute, for orphans every hour."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--older-than-s",
            type=int,
            default=3600,
            help="Minimum age of unfinished uploads and orphans. Default: %(default)s. Use 0 only "
            "while no server runs.",
        )

    def answer(self, *, older_than_s: int, **_: object) -> Answer:
        if older_than_s < 0:
            raise ValueError("--older-than-s: Enter 0 or more seconds.")
        age = timedelta(seconds=older_than_s)
        return asdict(clean_files(dead_after=age, orphan_after=age))

    def describe(self, answer: Answer) -> str:
        return (
            "Deleted: {expired} expired files, {unfinished} unfinished uploads, {orphans} orphans."
        ).format(**answer)
