"""list_batches: the batches of a workspace, the newest first."""

from __future__ import annotations

from argparse import ArgumentParser

import msgspec

from accounts.management.json_command import Answer, JsonCommand
from accounts.selectors import get_workspace
from gateway.api.schemas.batches import write_batch
from gateway.selectors.batches import list_batches

MOST = 1_000


class Command(JsonCommand):
    help = "List the batches of a workspace with their progress, the newest first."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("workspace", help="Workspace ID, slug or name.")
        parser.add_argument("--limit", type=int, default=50, help="Default: 50.")

    def answer(self, *, workspace: str, limit: int, **_: object) -> Answer:
        page = list_batches(get_workspace(workspace).pk, limit=min(max(limit, 1), MOST))
        shown = [msgspec.to_builtins(write_batch(batch)) for batch in page.batches]
        return {"batches": shown, "has_more": page.has_more}

    def describe(self, answer: Answer) -> str:
        batches = answer["batches"]
        assert isinstance(batches, list)
        return "\n".join(map(_line, batches)) or "The workspace has no batches."


def _line(batch: dict[str, dict[str, int]]) -> str:
    counts = batch["request_counts"]
    done = counts["completed"] + counts["failed"]
    return (
        f"{batch['id']}  {batch['status']}: {done} of {counts['total']} requests of "
        f"{batch['endpoint']}, {counts['failed']} failed"
    )
