"""Writes the drawn calls, a day at a time, and what they add up to."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from django.db import connection, transaction
from django.utils import timezone

from accounts.ids import stored_id
from accounts.ledger_days import add_up_entries
from accounts.models import LedgerMark, User, Wallet
from gateway.core.time_spans import DAY_S, HOUR_S, QUARTER_S
from gateway.database.partitions import make_partitions
from gateway.models import CallRecord, ServingProcess
from gateway.services.load_seed.calls import CallSource, Drawn, row_of
from gateway.services.load_seed.installation import EMAIL, Installation, install
from gateway.services.load_seed.plan import LoadPlan
from gateway.services.load_seed.totals import Entry, Totals
from gateway.services.rolling_up import roll_up_an_hour
from gateway.stores.error_totals import add as add_errors
from gateway.stores.inserts import Insert, Row
from gateway.stores.rows import COLUMNS, sqlite_moment

HOUR_MS = HOUR_S * 1_000
HOURS_PER_DAY = DAY_S // HOUR_S
ENTRIES_PER_STEP = 50_000
MARKS_PER_STATEMENT = 1_000
_INSERT_CALLS = Insert("gateway_callrecord", (), COLUMNS)
_INSERT_BODIES = Insert(
    "gateway_callbody", (), ("call_id", "workspace_id", "created_at", "request", "response")
)
_INSERT_USAGE = Insert(
    "gateway_usagerollup",
    (),
    (
        *("starts_at", "workspace_id", "key_id", "model", "status"),
        *("calls", "prompt_tokens", "completion_tokens", "charge_nusd", "absorbed_nusd"),
    ),
)
_INSERT_LATENCY = Insert(
    "gateway_latencyrollup",
    (),
    ("starts_at", "workspace_id", "model", "measure", "bucket", "calls"),
)
_INSERT_ENTRIES = Insert(
    "accounts_ledgerentry",
    (),
    (
        *("wallet_id", "sequence", "kind", "amount_nusd", "balance_nusd", "source", "key_id"),
        *("calls", "actor", "reason", "created_at"),
    ),
)
_REQUEST = json.dumps({"messages": [{"role": "user", "content": "What is a load test? " * 10}]})
_RESPONSE = json.dumps(
    {"choices": [{"message": {"role": "assistant", "content": "Many calls at once. " * 15}}]}
)

Progress = Callable[[str], None]


class CannotSeed(ValueError):
    """Why nothing was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seeded:
    """What was made. first_entries: of the first workspace. seconds: how long it took."""

    installation: Installation
    calls: int
    entries: int
    first_entries: int
    seconds: float


def check_database(*, despite_calls: bool) -> None:
    """Raises CannotSeed where a server runs, calls are recorded, or it has been done before.

    despite_calls: others' calls are no hindrance.
    """
    if ServingProcess.objects.filter(state=ServingProcess.State.ALIVE).exists():
        raise CannotSeed("A server uses this database. Stop it first.")
    if User.objects.filter(email=EMAIL).exists():
        raise CannotSeed("This database has the data of a load test already. Use another one.")
    if not despite_calls and CallRecord.objects.exists():
        raise CannotSeed(
            "This database has calls. Use another one, or confirm with --despite-calls."
        )


def seed_load(plan: LoadPlan, *, progress: Progress) -> Seeded:
    """Make all of it. What was written before it is stopped is whole, and stays."""
    began_s = time.monotonic()
    make_partitions(plan.starts_at)
    installation = install(plan)
    progress(f"{plan.workspaces:,} workspaces, {plan.keys:,} keys")
    writer = _Writer(plan, installation)
    for day in range(plan.days):
        writer.write_day(day)
        progress(f"day {day + 1} of {plan.days}: {writer.calls:,} calls")
    _add_up(progress)
    _analyze()
    return Seeded(
        installation=installation,
        calls=writer.calls,
        entries=writer.entries,
        first_entries=writer.first_entries,
        seconds=time.monotonic() - began_s,
    )


class _Writer:
    """calls, entries: how many were written so far."""

    def __init__(self, plan: LoadPlan, installation: Installation) -> None:
        self.calls = self.entries = 0
        self._plan = plan
        is_sqlite = connection.vendor == "sqlite"
        self._as_id: Callable[[uuid.UUID], str] = lambda each: str(stored_id(each))
        self._moment = sqlite_moment if is_sqlite else _moment_with_zone
        self._process = self._as_id(uuid.UUID(int=plan.seed))
        self._workspaces = [self._as_id(each) for each in installation.workspaces]
        keys = [[self._as_id(key) for key in some] for some in installation.keys]
        strip = (lambda text: text.replace("-", "")) if is_sqlite else str
        self._source = CallSource(plan, keys, strip)
        self._start_ms = int(plan.starts_at.timestamp()) * 1_000
        self._balances = plan.credits_nusd()
        self._sequences = [1] * plan.workspaces
        self._changed: set[int] = set()

    @property
    def first_entries(self) -> int:
        """How many entries the ledger of the first workspace has."""
        return self._sequences[0]

    @transaction.atomic
    def write_day(self, day: int) -> None:
        """Write the calls of a day and what they add up to."""
        errors = Totals().errors
        for hour in range(day * HOURS_PER_DAY, (day + 1) * HOURS_PER_DAY):
            errors |= self._write_hour(hour).errors
        add_errors(
            [
                (
                    (
                        each.quarter,
                        self._with_dashes(self._workspaces[each.place.workspace]),
                        self._with_dashes(each.place.key),
                        *(each.provider, each.status, each.error_code),
                    ),
                    sums,
                )
                for each, sums in errors.items()
            ]
        )
        self._update_wallets()

    def _write_hour(self, hour: int) -> Totals:
        hours = self._plan.days * HOURS_PER_DAY
        count = self._plan.calls * (hour + 1) // hours - self._plan.calls * hour // hours
        totals = Totals()
        calls = list(self._source.draw(self._start_ms + hour * HOUR_MS, HOUR_MS, count))
        for call in calls:
            totals.add(call)
        self._insert(_INSERT_CALLS, [self._row(call) for call in calls])
        self._insert(_INSERT_BODIES, self._bodies(calls))
        self._insert(_INSERT_ENTRIES, [self._entry(each) for each in totals.take_entries()])
        self._insert(
            _INSERT_USAGE,
            [
                (
                    self._moment(each.quarter * QUARTER_S),
                    self._workspaces[each.place.workspace],
                    each.place.key,
                    each.model,
                    each.status,
                    *sums,
                )
                for each, sums in totals.usage.items()
            ],
        )
        self._insert(
            _INSERT_LATENCY,
            [
                (
                    self._moment(each.quarter * QUARTER_S),
                    *(self._workspaces[each.workspace], each.model, each.measure, each.bucket),
                    count,
                )
                for each, count in totals.latency.items()
            ],
        )
        self.calls += count
        return totals

    def _insert(self, insert: Insert, rows: list[Row]) -> None:
        with connection.cursor() as cursor:
            insert.run(cursor, {(): rows})

    def _row(self, call: Drawn) -> Row:
        workspace = self._workspaces[call.place.workspace]
        return row_of(call, self._process, workspace, self._moment(call.at_ms / 1_000))

    def _bodies(self, calls: list[Drawn]) -> list[Row]:
        percent = self._plan.bodies
        return [
            (
                *(call.id, self._workspaces[call.place.workspace]),
                *(self._moment(call.at_ms / 1_000), _REQUEST, _RESPONSE),
            )
            for call in calls
            if call.number * percent // 100 != (call.number + 1) * percent // 100
        ]

    def _entry(self, entry: Entry) -> Row:
        (number, key), spending = entry.place, entry.spending
        self._balances[number] -= spending.charge_nusd
        self._sequences[number] += 1
        self._changed.add(number)
        self.entries += 1
        return (
            *(self._workspaces[number], self._sequences[number], "usage"),
            *(-spending.charge_nusd, self._balances[number]),
            *(f"drain:{self._process}:1:{spending.last}:{key}", key, spending.calls),
            *("", "", self._moment(spending.last_ms / 1_000)),
        )

    def _update_wallets(self) -> None:
        changed = [
            (self._balances[number], self._sequences[number], self._workspaces[number])
            for number in sorted(self._changed)
        ]
        self._changed.clear()
        with connection.cursor() as cursor:
            cursor.executemany(
                "UPDATE accounts_wallet SET posted_nusd = %s, sequence = %s"
                " WHERE workspace_id = %s",
                changed,
            )

    @staticmethod
    def _with_dashes(stored: str) -> str:
        return str(uuid.UUID(stored))


def _moment_with_zone(at: float) -> str:
    return f"{sqlite_moment(at)}+00"


def _add_up(progress: Progress) -> None:
    """Do at once what the background worker does with pauses: longer totals, days of the ledger."""
    hours = 0
    _analyze()
    while roll_up_an_hour(timezone.now()):
        hours += 1
        if hours % 100 == 0:
            progress(f"{hours} hours of totals added up")
    wallets = Wallet.objects.exclude(sequence=1).values_list("pk", "sequence")
    for wallet_id, newest in wallets.iterator():
        for place in range(0, newest, ENTRIES_PER_STEP):
            add_up_entries(wallet_id, place, min(place + ENTRIES_PER_STEP, newest))
    # The others have their credit alone.
    unused = Wallet.objects.filter(sequence=1).values_list("pk", flat=True)
    marks = [LedgerMark(wallet_id=wallet_id, sequence=1) for wallet_id in unused]
    LedgerMark.objects.bulk_create(marks, batch_size=MARKS_PER_STATEMENT)


def _analyze() -> None:
    """Tell PostgreSQL what it would find out by itself within minutes."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
