"""output_expires_after: when the files of results of a batch expire."""

from __future__ import annotations

from typing import Any

import openai
import pytest

from tests.flows.batches.asking import chat, create, created, ended, upload_lines
from tests.flows.caller import Caller
from tests.flows.stored_files.asking import get

LINES = [chat("good", "script:tokens=1"), chat("bad", "Hello", "nothing")]
TWO_HOURS = {"anchor": "created_at", "seconds": 7200}


def test_both_files_of_results_expire_when_they_were_told_to(caller: Caller) -> None:
    batch = created(caller, LINES, output_expires_after=TWO_HOURS)

    done = ended(caller, batch["id"])

    for name in ("output_file_id", "error_file_id"):
        file = get(caller, f"/{done[name]}").json
        assert file["expires_at"] - file["created_at"] == 7200
    # Of the batch, as before: the end of its window.
    assert done["expires_at"] - done["created_at"] == 24 * 60 * 60


def test_openais_sdk_says_it(caller: Caller) -> None:
    client = openai.OpenAI(api_key=caller.secret, base_url=f"http://127.0.0.1:{caller.port}/v1")

    batch = client.batches.create(
        input_file_id=upload_lines(caller, LINES),
        endpoint="/v1/chat/completions",
        completion_window="24h",
        output_expires_after={"anchor": "created_at", "seconds": 3600},
    )

    assert batch.status == "validating"


def test_a_batch_that_expires_differently_is_another_one(caller: Caller) -> None:
    file_id, headers = upload_lines(caller, LINES), {"idempotency-key": "once"}
    said: dict[str, Any] = {"headers": headers, "output_expires_after": TWO_HOURS}

    first, again = (create(caller, file_id, **said) for _ in range(2))
    other = create(caller, file_id, headers=headers)

    assert first.json["id"] == again.json["id"]
    assert (other.status, other.error["code"]) == (422, "idempotency_mismatch")


@pytest.mark.parametrize(
    ("said", "param"),
    [
        (TWO_HOURS | {"seconds": 3599}, "output_expires_after.seconds"),
        (TWO_HOURS | {"seconds": 2_592_001}, "output_expires_after.seconds"),
        (TWO_HOURS | {"seconds": "7200"}, "output_expires_after.seconds"),
        (TWO_HOURS | {"seconds": 7200.5}, "output_expires_after.seconds"),
        (TWO_HOURS | {"anchor": "completed_at"}, "output_expires_after.anchor"),
        ({"seconds": 7200}, "output_expires_after.anchor"),
        ({"anchor": "created_at"}, "output_expires_after.seconds"),
        (TWO_HOURS | {"days": 1}, "output_expires_after.days"),
        (7200, "output_expires_after"),
    ],
)
def test_another_expiry_is_refused(caller: Caller, said: object, param: str) -> None:
    answer = create(caller, upload_lines(caller, LINES), output_expires_after=said)

    assert (answer.status, answer.error["param"]) == (400, param)
