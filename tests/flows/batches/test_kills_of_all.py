"""Kills of server and worker while files are uploaded and deleted and batches run, all at once: no
orphan after the cleanup, and no line of a batch charged twice."""

from __future__ import annotations

import os
import random
import shutil
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.flows.batches.asking import (
    batch_caller,
    chat,
    created,
    ended,
    results,
    running_worker,
)
from tests.flows.caller import Caller
from tests.flows.site import INPUT_NUSD, NUSD_PER_USD, OUTPUT_NUSD, Site, running_site
from tests.flows.stored_files.asking import SCOPES, get
from tests.flows.stored_files.test_kills import upload_and_delete
from tests.support.proofs import form
from tests.support.waiting import wait_until

MINUTES = float(os.environ.get("MINUTES") or 10)
LINES = form(short=40, whole=150)
MB = 1024 * 1024
STARTS = 3


@pytest.mark.proof
def test_kills_leave_no_orphan_and_charge_nothing_twice(
    home_template: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("all-kills") / "home"))
    dice, over = random.Random(14), threading.Event()
    with running_site(home) as site, running_worker(site) as worker:
        caller = batch_caller(site, credit_nusd=NUSD_PER_USD)
        storer = site.caller(scopes=SCOPES)
        threads = [
            threading.Thread(target=upload_and_delete, args=(storer, over, MB)) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        batches = [_begin(caller, 0)]
        kills, ends_at = 0, time.monotonic() + 60 * MINUTES
        while kills < form(short=3, whole=1_000_000) and time.monotonic() < ends_at:
            time.sleep(dice.uniform(0.2, 3))
            victim = ("worker", "server", "both")[kills % 3]
            if victim != "server":
                worker.kill()
            if victim != "worker":
                site.gateway.kill()
                _start_again(site)
            if victim != "server":
                worker.start()
            kills += 1
            if kills % 5 == 0:
                batches.append(_begin(caller, len(batches)))
        over.set()
        for thread in threads:
            thread.join()

        _assert_charged_once(site, caller, batches)
        _assert_no_orphan(site, home, storer)
        print(f"{kills} kills, {len(batches)} batches of {LINES} lines")  # noqa: T201


def _start_again(site: Site) -> None:
    """As the supervisor does, also where the database was locked for too long at a start."""
    for _ in range(STARTS - 1):
        with suppress(AssertionError):
            site.gateway.restart()
            return
    site.gateway.restart()


def _begin(caller: Caller, number: int) -> str:
    lines = [
        chat(f"{number}-{line}", f"script:tokens={line % 7 + 1}&delay_ms=20")
        for line in range(LINES)
    ]
    return str(created(caller, lines)["id"])


def _assert_charged_once(site: Site, caller: Caller, batches: list[str]) -> None:
    """Each line has one result, and the workspace has paid for these and for nothing else."""
    good: dict[str, dict[str, Any]] = {}
    for batch_id in batches:
        done = ended(caller, batch_id)
        assert done["request_counts"] == {"total": LINES, "completed": LINES, "failed": 0}
        good |= results(caller, done["output_file_id"])
    assert len(good) == LINES * len(batches)
    usages = [line["response"]["body"]["usage"] for line in good.values()]
    cost_nusd = sum(
        usage["prompt_tokens"] * INPUT_NUSD + usage["completion_tokens"] * OUTPUT_NUSD
        for usage in usages
    )
    wait_until(
        lambda: site.balance_nusd(caller) == NUSD_PER_USD - cost_nusd,
        what="what was charged to be what the answers cost",
    )


def _assert_no_orphan(site: Site, home: Path, storer: Caller) -> None:
    site.office.do("clean_files", at_once=True)
    site.office.do("stored_bytes", workspace_id=storer.workspace_id)
    stored = {path.name for path in (home / "files").glob("*/*")}
    assert stored == set(site.office.do("storage_names"))
    query, has_more = "?limit=100", True
    while has_more:
        page = get(storer, query).json
        for file in page["data"]:
            assert len(get(storer, f"/{file['id']}/content").body) == file["bytes"]
        has_more, query = page["has_more"], f"?limit=100&after={page['last_id']}"
