"""A workspace with money, stores with their real threads, and records to put through them."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from accounts import ledger
from accounts.models import Workspace
from gateway.core.ids import new_request_id
from gateway.core.money import Price
from gateway.journal.record import Admitted, Refused, Settled
from gateway.stores.process_stores import ProcessStores
from gateway.stores.purse_funding import ReservationTimeouts
from gateway.stores.writer import Writer

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)
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
        "price": Price(0, 0, 0),
    }
    return build(Admitted, values | fields)


def settled(record: Admitted, charge_nusd: int, **fields: Any) -> Settled:
    """Return the end of a call at a price of 1 nUSD per output token. charge_nusd: without what is
    owed."""
    values: dict[str, Any] = {
        "identity": record.identity,
        "status": "ok",
        "charge_basis": "usage",
        "hold_nusd": record.hold_nusd,
        "charge_nusd": charge_nusd + fields.get("owed_nusd", 0),
        "model": "m",
        "provider": "p",
        "native_model": "n",
        "finish_reason": "stop",
        "completion_tokens": charge_nusd,
        "price": Price(0, 0, 1000),
        "total_us": 1500,
    }
    return build(Settled, values | fields)


def refused(workspace_id: str, **fields: Any) -> Refused:
    values: dict[str, Any] = {
        "call_id": new_request_id(),
        "workspace_id": workspace_id,
        "key_id": KEY_ID,
        "at": time.time(),
        "requested_model": "m",
        "http_status": 429,
        "error_code": "rate_limit_exceeded",
        "total_us": 1,
    }
    return build(Refused, values | fields)


def build(kind: type[S], fields: dict[str, Any]) -> S:
    """Return a struct; those within it are made of the fields that it has not itself."""
    record = _take(kind, fields, None)
    assert not fields, f"{kind.__name__} has no {list(fields)}"
    return record


def _take(kind: type[S], fields: dict[str, Any], base: Any) -> S:
    known: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        if field.name in fields:
            known[field.name] = fields.pop(field.name)
        elif base is not None:
            known[field.name] = getattr(base, field.name)
        if isinstance(field.type, type) and issubclass(field.type, msgspec.Struct):
            known[field.name] = _take(field.type, fields, known.get(field.name))
    return kind(**known)


def end(stores: ProcessStores, record: Admitted, charge_nusd: int, **fields: Any) -> None:
    """End a call as the gateway does: release, then the record."""
    stores.credits.release(record.workspace_id, record.hold_nusd, charge_nusd)
    stores.records.settled(settled(record, charge_nusd, **fields))
