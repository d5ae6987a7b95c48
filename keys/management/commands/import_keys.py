"""import_keys: take over keys that were issued elsewhere."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from accounts.selectors import get_workspace
from keys.import_rows import MAX_BYTES, Problem, read_rows
from keys.importing import import_keys, plan_import

PROBLEMS_SHOWN = 50


class Command(JsonCommand):
    help = "Import keys issued elsewhere from a CSV file: all of them or none (docs/moving.md)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", help="CSV in UTF-8; - for standard input.")
        parser.add_argument("--workspace", required=True, help="Workspace ID, slug or name.")
        parser.add_argument(
            "--dry-run", action="store_true", help="Show what would be imported without importing."
        )

    def answer(self, *, file: str, workspace: str, dry_run: bool, **options: object) -> Answer:
        into = get_workspace(workspace)
        rows, problems = read_rows(_read(file))
        plan = plan_import(into, rows, person=None)
        if problems or plan.problems:
            raise ValueError(_sentence([*problems, *plan.problems]))
        keys = [] if dry_run else import_keys(into, rows, actor=ACTOR)
        ids = {key.digest: str(key.pk) for key in keys}
        return {
            "workspace_id": str(into.pk),
            "dry_run": dry_run,
            "imported": len(keys),
            "would_import": len(plan.fresh) if dry_run else 0,
            "already_here": len(plan.here),
            "keys": [
                {
                    "line": row.line,
                    "key_id": ids.get(row.kept.digest),
                    "label": row.rules["label"],
                    "sha256": row.kept.digest,
                }
                for row in plan.fresh
            ],
        }

    def describe(self, answer: Answer) -> str:
        planned, done = answer["would_import"], answer["imported"]
        words = f"{planned} would be imported" if answer["dry_run"] else f"{done} imported"
        return f"Keys: {words}, {answer['already_here']} already in the workspace."


def _read(file: str) -> bytes:
    """Return the content. Raises ValueError with a sentence."""
    try:
        if file == "-":
            content = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(file).open("rb") as opened:
                content = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise ValueError(f"The file cannot be read: {error.strerror}.") from None
    if len(content) > MAX_BYTES:
        raise ValueError(f"The file exceeds {MAX_BYTES // 1024} KB. Split it.")
    return content


def _sentence(problems: list[Problem]) -> str:
    shown = "; ".join(map(str, problems[:PROBLEMS_SHOWN]))
    more = len(problems) - PROBLEMS_SHOWN
    return f"Nothing was imported. {shown}" + (f"; and {more:,} more" if more > 0 else "")
