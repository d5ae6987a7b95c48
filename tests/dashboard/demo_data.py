"""A workspace that looks lived in: a week of calls, written through the code that writes real ones.

Everything is drawn from a seed, so two runs differ in their moments alone.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from math import cos, pi

from django.db import transaction
from msgspec.structs import replace

from accounts import ledger
from accounts.models import LedgerEntry, Workspace
from gateway.core.call_identity import CallIdentity
from gateway.core.money import NUSD_PER_USD, Price, Usage, cost_nusd
from gateway.core.receipt import Attempt, Receipt
from gateway.journal.record import Admitted, Record, Refused, Served, Settled
from gateway.selectors.id_times import first_id_at
from gateway.stores.drain import apply
from keys.models import ApiKey
from tests.factories import ACTOR, make_key

BATCH = timedelta(hours=3)
HOLD_FACTOR = 4
SPIKE_MODEL = "deepseek-v3.2"


@dataclass(frozen=True)
class DemoModel:
    """What the calls of one model are like. us_per_token: of generation."""

    name: str
    provider: str
    native: str
    price: Price
    share: float
    first_us: int
    us_per_token: int


MODELS = (
    DemoModel(
        "gpt-5-mini",
        "openai",
        "gpt-5-mini-2025-08-07",
        Price(250_000, 25_000, 2_000_000),
        0.46,
        310_000,
        7_500,
    ),
    DemoModel(
        "deepseek-v3.2",
        "deepseek",
        "deepseek-chat",
        Price(280_000, 28_000, 420_000),
        0.27,
        540_000,
        18_000,
    ),
    DemoModel(
        "mistral-medium",
        "mistral",
        "mistral-medium-2508",
        Price(400_000, 400_000, 2_000_000),
        0.16,
        260_000,
        11_000,
    ),
    DemoModel(
        "grok-4-fast",
        "xai",
        "grok-4-fast-non-reasoning",
        Price(200_000, 50_000, 500_000),
        0.08,
        390_000,
        6_000,
    ),
    DemoModel("smollm2-135m", "local", "smollm2-135m", Price(0, 0, 0), 0.03, 45_000, 14_000),
)
KEY_LABELS = (
    "Checkout assistant",
    "Search ranking",
    "Support inbox",
    "Nightly evals",
    "Laptop of Ada",
)
KEY_SHARES = (0.44, 0.27, 0.17, 0.09, 0.03)
REFUSALS = (("rate_limit_exceeded", 429), ("model_not_allowed", 403), ("insufficient_credits", 402))
REFUSED_BY: dict[str, dict[str, object]] = {
    "rate_limit_exceeded": {
        "step": "limits",
        "level": "token",
        "limit": {"metric": "requests", "period": "minute", "max": 60, "per_request": False},
        "current": 120,
        "requested": 1,
    },
    "model_not_allowed": {"step": "model"},
    "model_not_found": {"step": "model"},
    "insufficient_credits": {
        "step": "money",
        "level": "organisation",
        "limit": {"metric": "cost_micro_usd", "period": None, "max": 0, "per_request": False},
        "current": 0,
        "requested": 4_210,
    },
}
FAILURES = (("provider_timeout", 504), ("provider_unavailable", 502), ("provider_overloaded", 529))


def make_demo_data(
    workspace: Workspace,
    days: int = 7,
    *,
    calls_per_day: int = 3_000,
    now: datetime | None = None,
    running: int = 4,
    seed: int = 23,
) -> list[ApiKey]:
    """Write `days` of calls with their records, rollups and ledger; return the keys they used."""
    now = now or datetime.now(UTC)
    dice = random.Random(seed)
    keys = [make_key(workspace, label=label).key for label in KEY_LABELS]
    process_id = uuid.UUID(int=dice.getrandbits(128))
    _fund(workspace, now - timedelta(days=days), days * calls_per_day)
    # The nth call comes to the same at any time of any day, and with this seed the first twenty end
    # in most of the ways there are: a quiet weekend is enough for tests that look for one.
    fates = (random.Random(f"{seed}:{number}") for number in count())
    start = now - timedelta(days=days)
    while start < now:
        # A batch and its entries in the ledger are of one day, as the calls of a server nearly are.
        midnight = start.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
        end = min(start + BATCH, midnight, now)
        records = list(_calls(dice, fates, workspace, keys, start, end, calls_per_day))
        _post(workspace, process_id, records, end - timedelta(microseconds=1))
        start = end
    last = [_running(dice, workspace, keys[0], now) for _ in range(running)]
    _post(workspace, process_id, last, now)
    return keys


def make_error_spike(workspace: Workspace, key: ApiKey, *, at: datetime, calls: int = 60) -> None:
    """Write calls of the key that failed at one provider, a minute apart, the first at `at`."""
    dice = random.Random("spike")
    model = next(model for model in MODELS if model.name == SPIKE_MODEL)
    records: list[Record] = []
    for number in range(calls):
        settled = _settled(dice, workspace, key, at + timedelta(minutes=number))
        failed = replace(
            settled,
            identity=replace(settled.identity, requested_model=model.name),
            receipt=replace(
                settled.receipt,
                status="upstream_error",
                charge_basis="zero_upstream",
                charge_nusd=0,
                absorbed_nusd=0,
            ),
            served=replace(
                settled.served,
                model=model.name,
                provider=model.provider,
                fallback_from="",
                fallback_depth=0,
            ),
            http_status=502,
            error_code="provider_unavailable",
        )
        records += [_admitted(failed), failed]
    _post(workspace, uuid.uuid4(), records, at)


def make_unknown_model_call(workspace: Workspace, key: ApiKey, *, model: str) -> None:
    """Write a call that was refused because there is no such model."""
    at = datetime.now(UTC) - timedelta(days=3)
    refused = _refused(random.Random(model), workspace, key, at)
    refused = replace(
        refused,
        identity=replace(refused.identity, requested_model=model),
        http_status=404,
        error_code="model_not_found",
        refusal=json.dumps(REFUSED_BY["model_not_found"]),
    )
    _post(workspace, uuid.uuid4(), [refused], at)


def _fund(workspace: Workspace, at: datetime, calls: int) -> None:
    """Give enough that no call is refused for money, and let it look like two grants."""
    ledger.open_wallet(workspace)
    share = max(20, calls // 100) * NUSD_PER_USD
    for reason in ("Pilot budget, approved by finance", "Second month of the pilot"):
        entry = ledger.grant(workspace, amount_nusd=share, actor=ACTOR, reason=reason)
        LedgerEntry.objects.filter(pk=entry.pk).update(created_at=at)


def _post(
    workspace: Workspace, process_id: uuid.UUID, records: Sequence[Record], at: datetime
) -> None:
    charge = sum(record.paid_nusd for record in records if isinstance(record, Settled))
    source = f"demo:{uuid.uuid4()}"
    with transaction.atomic():
        if charge:
            ledger.draw(workspace.pk, process_id, want_nusd=charge, least_nusd=charge)
        apply(process_id, records, source=source)
        LedgerEntry.objects.filter(source__startswith=source).update(created_at=at)


def _calls(
    dice: random.Random,
    fates: Iterator[random.Random],
    workspace: Workspace,
    keys: Sequence[ApiKey],
    start: datetime,
    end: datetime,
    calls_per_day: int,
) -> Iterator[Record]:
    """Yield calls from start to end, more of them by day than by night and at the weekend."""
    at = start
    while True:
        hour = at.hour + at.minute / 60
        busy = (1 - 0.75 * cos(2 * pi * (hour - 3) / 24)) * (0.45 if at.weekday() >= 5 else 1.1)
        at += timedelta(seconds=dice.expovariate(calls_per_day * busy / 86_400))
        if at >= end:
            return
        fate = next(fates)
        key = fate.choices(keys, KEY_SHARES)[0]
        if fate.random() < 0.012:
            yield _refused(fate, workspace, key, at)
        else:
            settled = _settled(fate, workspace, key, at)
            yield _admitted(settled)
            yield settled


def _admitted(settled: Settled) -> Admitted:
    """Return the record that came before: a call that was never admitted cannot end."""
    return Admitted(
        identity=settled.identity, hold_nusd=settled.hold_nusd, price=settled.served.price
    )


def _settled(dice: random.Random, workspace: Workspace, key: ApiKey, at: datetime) -> Settled:
    model = dice.choices(MODELS, [model.share for model in MODELS])[0]
    status, basis, code, http = _outcome(dice)
    usage = _usage(dice, status)
    cost = cost_nusd(usage, model.price)
    charge = 0 if basis.startswith("zero") else cost
    admit, gateway = dice.randint(45, 160), dice.randint(120, 520)
    failed = dice.randint(80_000, 900_000) if dice.random() < 0.02 else 0
    # Every other call that was not served at first is served by another model.
    meant = MODELS[MODELS.index(model) - 1] if failed % 2 else model
    wait = int(model.first_us * dice.lognormvariate(0, 0.35))
    upstream = wait + int(usage.completion_tokens * model.us_per_token * dice.uniform(0.8, 1.3))
    streamed = dice.random() < 0.7
    return Settled(
        identity=CallIdentity(
            call_id=str(_id_at(dice, at)),
            workspace_id=str(workspace.pk),
            key_id=str(key.pk),
            at=at.timestamp(),
            requested_model=meant.name,
            streamed=streamed,
            user=f"customer-{dice.randint(1, 400)}",
            ip=f"10.20.{dice.randint(0, 3)}.{dice.randint(2, 250)}",
        ),
        receipt=Receipt(
            status=status,
            charge_basis=basis,
            usage=usage,
            charge_nusd=charge,
            absorbed_nusd=cost - charge,
            total_us=admit + gateway + failed + upstream,
            admit_us=admit,
            failed_us=failed,
            ttft_us=admit + gateway + failed + wait if usage.completion_tokens else None,
            upstream_us=upstream,
        ),
        served=Served(
            model=model.name,
            provider=model.provider,
            native_model=model.native,
            price=model.price,
            finish_reason="stop" if status == "ok" else "",
            fallback_from=meant.name if meant is not model else "",
            fallback_depth=int(meant is not model),
        ),
        hold_nusd=cost * HOLD_FACTOR,
        http_status=http,
        error_code=code,
        attempts=_attempts(model, meant, code, failed_us=failed, upstream_us=upstream),
    )


def _outcome(dice: random.Random) -> tuple[str, str, str, int]:
    """Return status, charge basis, error code and HTTP status."""
    roll = dice.random()
    if roll < 0.965:
        return "ok", "usage", "", 200
    if roll < 0.979:
        return "cancelled", "estimate", "client_cancelled", 499
    if roll < 0.983:
        return "partial", "usage", "key_revoked", 200
    if roll < 0.9985:
        code, http = dice.choice(FAILURES)
        return "upstream_error", "zero_upstream", code, http
    return "platform_aborted", "zero_platform", "server_restarting", 503


def _usage(dice: random.Random, status: str) -> Usage:
    if status in ("upstream_error", "platform_aborted"):
        return Usage()
    prompt = int(dice.lognormvariate(6.4, 0.9)) + 8
    completion = int(dice.lognormvariate(5.0, 0.8)) + 1
    cached = prompt // 2 if dice.random() < 0.3 else 0
    return Usage(prompt, completion, cached, completion // 3 if dice.random() < 0.2 else 0)


def _attempts(
    model: DemoModel, meant: DemoModel, code: str, *, failed_us: int, upstream_us: int
) -> tuple[Attempt, ...]:
    status = 502 if code.startswith("provider") else 200
    last = _attempt(model, code, status, upstream_us)
    if meant is not model:
        last = replace(last, fallback=model.name)
    return (_attempt(meant, "provider_timeout", 504, failed_us), last) if failed_us else (last,)


def _attempt(model: DemoModel, code: str, status: int, us: int) -> Attempt:
    return Attempt(provider=model.provider, model=model.native, code=code, status=status, us=us)


def _refused(dice: random.Random, workspace: Workspace, key: ApiKey, at: datetime) -> Refused:
    code, http = dice.choices(REFUSALS, (6, 3, 1))[0]
    return Refused(
        identity=CallIdentity(
            call_id=str(_id_at(dice, at)),
            workspace_id=str(workspace.pk),
            key_id=str(key.pk),
            at=at.timestamp(),
            requested_model="gpt-5-mini",
            ip="10.20.0.9",
        ),
        http_status=http,
        error_code=code,
        total_us=dice.randint(40, 400),
        refusal=json.dumps(REFUSED_BY[code]),
    )


def _running(dice: random.Random, workspace: Workspace, key: ApiKey, now: datetime) -> Admitted:
    at = now - timedelta(seconds=dice.uniform(0.2, 9))
    model = MODELS[0]
    return Admitted(
        identity=CallIdentity(
            call_id=str(_id_at(dice, at)),
            workspace_id=str(workspace.pk),
            key_id=str(key.pk),
            at=at.timestamp(),
            requested_model=model.name,
            streamed=True,
        ),
        hold_nusd=dice.randint(400_000, 9_000_000),
        model=model.name,
        price=model.price,
    )


def _id_at(dice: random.Random, at: datetime) -> uuid.UUID:
    """Return a UUIDv7 of that millisecond."""
    version_and_variant = (7 << 76) | (2 << 62)
    rest = (dice.getrandbits(12) << 64) | dice.getrandbits(62)
    return uuid.UUID(int=first_id_at(at).int | version_and_variant | rest)
