"""Kills of worker and server while a batch runs: each line has one result and one charge."""

from __future__ import annotations

import random
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from tests.flows.batches.asking import (
    ENDS_WITHIN_S,
    batch_caller,
    chat,
    created,
    ended,
    find,
    results,
    running_worker,
)
from tests.flows.caller import Caller
from tests.flows.site import INPUT_NUSD, NUSD_PER_USD, OUTPUT_NUSD, Site, running_site
from tests.support.proofs import form
from tests.support.waiting import wait_until

LINES = form(short=80, whole=600)
OVER = ("completed", "failed", "expired", "cancelled")
# Who is killed, and how often in all.
VICTIMS = ("worker", "server", "both")


def _goes_on(site: Site, caller: Caller, batch_id: str) -> bool:
    """True while calls of the batch run, and once it is over."""
    records = site.office.do("records", key_id=caller.key_id)
    runs = any(record["status"] == "in_progress" for record in records)
    return runs or find(caller, batch_id)["status"] in OVER


@pytest.mark.proof
def test_a_batch_survives_kills_at_any_point(
    home_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("kills") / "home"))
    dice = random.Random(13)
    with running_site(home) as site, running_worker(site) as worker:
        caller = batch_caller(site, credit_nusd=NUSD_PER_USD)
        lines = [
            chat(f"line-{number}", f"script:tokens={number % 7 + 1}&delay_ms=40")
            for number in range(LINES)
        ]
        lines.append(chat("bad", "Hello", "nothing"))
        batch = created(caller, lines)

        for victim in VICTIMS * form(short=1, whole=10):
            wait_until(
                lambda: _goes_on(site, caller, batch["id"]),
                within_s=ENDS_WITHIN_S,
                what="the batch to go on",
            )
            time.sleep(dice.uniform(0, 1.5))
            if victim in ("worker", "both"):
                worker.kill()
            if victim in ("server", "both"):
                site.gateway.kill()
                time.sleep(dice.uniform(0, 0.5))
                site.gateway.restart()
            if victim in ("worker", "both"):
                worker.start()
        done = ended(caller, batch["id"])

        good = results(caller, done["output_file_id"])
        bad = results(caller, done["error_file_id"])
        assert set(good) == {f"line-{number}" for number in range(LINES)}
        assert set(bad) == {"bad"}
        assert done["request_counts"] == {"total": LINES + 1, "completed": LINES, "failed": 1}
        _assert_charged_once(site, caller, good)


def _assert_charged_once(site: Site, caller: Caller, good: dict[str, dict[str, Any]]) -> None:
    """Assert that the workspace has paid for the answers in the file, and for nothing else."""
    usages = [line["response"]["body"]["usage"] for line in good.values()]
    expected_nusd = sum(
        usage["prompt_tokens"] * INPUT_NUSD + usage["completion_tokens"] * OUTPUT_NUSD
        for usage in usages
    )
    wait_until(
        lambda: site.balance_nusd(caller) == NUSD_PER_USD - expected_nusd,
        what="what was charged to be what the answers cost",
    )
    charged = [
        record
        for record in site.office.do("records", key_id=caller.key_id)
        if record["charge_nusd"]
    ]
    assert len(charged) == LINES
    assert len({record["client_request_id"] for record in charged}) == LINES
