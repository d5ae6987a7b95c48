"""The ledger is proved on PostgreSQL, too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.postgresql import running_postgresql
from tests.support.servers import run_manage

# One process: to start them takes longer than all they do.
MAKE_CALLS = """
from django.conf import settings
from django.core.management import call_command
from gateway.services.proof_marks import find_mark
from gateway.services.proving import prove, record_proof
from tests.money.office import admitted, end, hold, make_rich, run_with_stores
call_command("migrate", verbosity=0)
workspace = str(make_rich(10_000).pk)
async def make_calls(stores):
    for charge in (300, 0, 7):
        held = await hold(stores, workspace, 700)
        record = admitted(workspace, held)
        stores.records.admitted(record)
        end(stores, record, charge)
run_with_stores(settings.HOME / "journal", make_calls)
record_proof(prove())
print(prove(mark=find_mark()).breaks)
"""


@pytest.fixture
def postgresql() -> Iterator[dict[str, str]]:
    with running_postgresql() as environment:
        yield environment


@pytest.mark.slow
def test_the_ledger_is_proved_on_postgresql(tmp_path: Path, postgresql: dict[str, str]) -> None:
    home = tmp_path / "home"

    made = run_manage(home, "shell", "--no-imports", "-c", MAKE_CALLS, env=postgresql)
    proved = run_manage(home, "prove", "--json", env=postgresql)

    assert made.returncode == 0, made.stderr
    assert made.stdout.strip() == "[]"  # of what came since a mark
    assert proved.returncode == 0, proved.stdout + proved.stderr
    proof = json.loads(proved.stdout)
    assert (proof["calls"], proof["breaks"], proof["journal_faults"]) == (3, [], [])
