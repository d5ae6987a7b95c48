"""cancel_batch: have no further requests of a batch made."""

from __future__ import annotations

from argparse import ArgumentParser

import msgspec

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from gateway.api.schemas.batches import write_batch
from gateway.models import Batch
from gateway.models.batch import read_batch_id
from gateway.services.batches.creating import cancel_batch


class Command(JsonCommand):
    help = "Cancel a batch. Requests in progress are finished; results so far are kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("batch", help="Batch ID, such as batch_0197….")

    def answer(self, *, batch: str, **_: object) -> Answer:
        row_id = read_batch_id(batch)
        found = None if row_id is None else Batch.objects.filter(pk=row_id).first()
        if found is None:
            raise LookupError(f"The batch {batch} does not exist.")
        answer: Answer = msgspec.to_builtins(write_batch(cancel_batch(found, actor=ACTOR)))
        return answer

    def describe(self, answer: Answer) -> str:
        return f"{answer['id']} is {answer['status']}."
