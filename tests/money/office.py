"""A workspace with money, stores with their real threads, and records to put through them."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from accounts import ledger
from accounts.models import Workspace
from gateway.core.ids import new_request_id
from gateway.journal.record import Admitted, Settled
from gateway.stores.process_stores import ProcessStores
from gateway.stores.purse_funding import ReservationTimeouts
from gateway.stores.writer import Writer

T = TypeVar("T")
KEY_ID = str(uuid.UUID(int=7))
# Nobody is refused because the machine is busy.
LONG_TIMEOUTS = ReservationTimeouts(database_s=60, recall_s=60)


def make_rich(amount_nusd: int) -> Workspace:
    """Return a new workspace with so much credit."""
    workspace = Workspace.objects.create(name="Rich", slug=uuid.uuid4().hex)
    ledger.open_wallet(workspace)
    if amount_nusd:
        ledger.grant(workspace, amount_nusd=amount_nusd, actor="tests", reason="test")
    return workspace


def run_with_stores(
    home: Path,
    work: Callable[[ProcessStores], Awaitable[T]],
    *,
    timeouts: ReservationTimeouts = LONG_TIMEOUTS,
    writer: Writer | None = None,
) -> T:
    """Start a process's stores, do the work on an event loop, and stop the stores."""

    async def run() -> T:
        stores = ProcessStores(writer or Writer(home), timeouts)
        stores.start(asyncio.get_running_loop())
        try:
            return await work(stores)
        finally:
            await stores.stop()

    return asyncio.run(run())


async def hold(
    stores: ProcessStores, workspace_id: str, want: int, least: int | None = None
) -> int:
    """Hold as admission does: the purse first, then the wallet."""
    if stores.credits.try_hold(workspace_id, want):
        return want
    return await stores.credits.hold(workspace_id, want_nusd=want, least_nusd=least or want)


def admitted(workspace_id: str, hold_nusd: int, **fields: Any) -> Admitted:
    values: dict[str, Any] = {
        "call_id": new_request_id(),
        "workspace_id": workspace_id,
        "key_id": KEY_ID,
        "at": time.time(),
        "hold_nusd": hold_nusd,
        "requested_model": "m",
        "streamed": False,
    }
    return Admitted(**(values | fields))


def settled(record: Admitted, charge_nusd: int, **fields: Any) -> Settled:
    """Return the end of a call at a price of 1 nUSD per output token."""
    values: dict[str, Any] = dict.fromkeys(
        (
            "absorbed_nusd",
            "prompt_tokens",
            "cached_tokens",
            "reasoning_tokens",
            "input_pusd",
            "cached_input_pusd",
            "admit_us",
            "queued_us",
            "failed_us",
            "upstream_us",
        ),
        0,
    )
    values |= {
        "call_id": record.call_id,
        "workspace_id": record.workspace_id,
        "key_id": record.key_id,
        "at": record.at,
        "status": "ok",
        "charge_basis": "usage",
        "hold_nusd": record.hold_nusd,
        "charge_nusd": charge_nusd,
        "http_status": 200,
        "error_code": "",
        "requested_model": "m",
        "model": "m",
        "provider": "p",
        "native_model": "n",
        "streamed": False,
        "finish_reason": "stop",
        "completion_tokens": charge_nusd,
        "output_pusd": 1000,
        "total_us": 1500,
        "ttft_us": None,
    }
    return Settled(**(values | fields))


def end(stores: ProcessStores, record: Admitted, charge_nusd: int, **fields: Any) -> None:
    """End a call as the gateway does: release, then the record."""
    stores.credits.release(record.workspace_id, record.hold_nusd, charge_nusd)
    stores.records.settled(settled(record, charge_nusd, **fields))
