"""The ledger is proved on PostgreSQL, too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.servers import run_manage

# One process: to start them takes longer than all they do.
MAKE_CALLS = """
from django.conf import settings
from gateway.services.proof_marks import find_mark
from gateway.services.proving import prove, record_proof
from tests.money.office import admitted, end, hold, make_rich, run_with_stores
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


@pytest.mark.slow
def test_the_ledger_is_proved_on_postgresql(postgresql_home: Path) -> None:
    made = run_manage(postgresql_home, "shell", "--no-imports", "-c", MAKE_CALLS)
    proved = run_manage(postgresql_home, "prove", "--json")

    assert made.returncode == 0, made.stderr
    assert made.stdout.strip() == "[]"  # of what came since a mark
    assert proved.returncode == 0, proved.stdout + proved.stderr
    proof = json.loads(proved.stdout)
    assert (proof["calls"], proof["breaks"], proof["journal_faults"]) == (3, [], [])
