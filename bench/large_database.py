"""`python -m bench.large_database`: a home whose database has millions of calls.

Written in SQL, in the shape in which the product writes: calls with their charges, ledger entries
per key and batch, and the totals of each quarter of an hour. `manage.py prove` holds on it. Serve
it with `TOLLHOUSE_HOME=<home> make up`, or measure its pages with `python -m bench.pages`.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import sys
import time
import uuid
from pathlib import Path
from typing import Any

EMAIL = "owner@localhost"
PASSWORD = "bench: a long passphrase"
DAY_S = 86_400
CALLS_PER_BATCH = 5  # of one key in one batch of the drain
CREDIT_USD = 10_000_000
CACHE_KB = 500_000
# name, share in percent, nano-USD per token in and out, milliseconds to the first event
MODELS = (
    ("large", 40, 250, 2000, 400),
    ("small", 30, 50, 400, 200),
    ("fast", 15, 100, 600, 120),
    ("reasoning", 10, 1000, 8000, 2500),
    ("long", 5, 400, 1600, 900),
)
# status, share in per mille, charge basis, HTTP status, error code
OUTCOMES = (
    ("ok", 955, "usage", 200, ""),
    ("cancelled", 10, "estimate", 499, ""),
    ("upstream_error", 15, "zero_upstream", 502, "provider_unavailable"),
    ("refused", 20, "", 429, "rate_limit_exceeded"),
)

DICE = """
INSERT INTO dice
WITH RECURSIVE numbers(n) AS (SELECT ? UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ?)
SELECT n, CAST(? + n * ? AS INTEGER), abs(random()) % ?, abs(random()) % 100, abs(random()) % 1000,
       50 + abs(random()) % 2000, 1 + abs(random()) % 600, abs(random()) % 1000,
       abs(random()) % 4096, abs(random()) % 4, abs(random()) >> 4
FROM numbers
"""
CALLS = """
INSERT INTO gateway_callrecord ({columns})
SELECT {values}
FROM (SELECT d.*, k.id AS key_id, m.*, o.*,
             m.first_ms * 1000 + CASE WHEN o.status = 'ok' THEN d.completion * 9000 ELSE 0 END
                 + d.jitter * 300 AS upstream,
             CASE WHEN o.status = 'refused' THEN 0 ELSE d.prompt END AS taken,
             CASE WHEN o.status IN ('ok', 'cancelled') THEN d.completion ELSE 0 END AS made
      FROM dice d
      JOIN bench_keys k ON k.n = d.key_no
      JOIN bench_models m ON d.model_no >= m.least AND d.model_no < m.most
      JOIN bench_outcomes o ON d.outcome_no >= o.least AND d.outcome_no < o.most) c
ORDER BY c.n
"""
# Each column's value; columns that are not here get their field's default.
VALUES = {
    "id": "printf('%012x7%03x%x%015x', c.at_ms, c.high, 8 + c.variant, c.low)",
    "workspace_id": "'{workspace}'",
    "key_id": "c.key_id",
    "process_id": "'{process}'",
    "created_at": "{moment}",
    "status": "c.status",
    "http_status": "c.http",
    "error_code": "c.code",
    "charge_basis": "c.basis",
    "model": "CASE WHEN c.status = 'refused' THEN '' ELSE c.name END",
    "requested_model": "c.name",
    "provider": "CASE WHEN c.status = 'refused' THEN '' ELSE 'bench' END",
    "native_model": "CASE WHEN c.status = 'refused' THEN '' ELSE c.name END",
    "streamed": "c.variant < 3",
    "attempts": "'[]'",
    "finish_reason": "CASE WHEN c.status = 'ok' THEN 'stop' ELSE '' END",
    "ip": "'127.0.0.1'",
    "profile": "'unified'",
    "dropped_params": "'[]'",
    "prompt_tokens": "c.taken",
    "completion_tokens": "c.made",
    "input_pusd_per_token": "c.input * 1000",
    "cached_input_pusd_per_token": "c.input * 1000",
    "output_pusd_per_token": "c.output * 1000",
    "hold_nusd": "CASE WHEN c.status = 'refused' THEN 0"
    " ELSE c.taken * c.input + 4096 * c.output END",
    "charge_nusd": "CASE WHEN c.basis IN ('usage', 'estimate')"
    " THEN c.taken * c.input + c.made * c.output ELSE 0 END",
    "absorbed_nusd": "CASE WHEN c.basis = 'zero_upstream' THEN c.taken * c.input ELSE 0 END",
    "total_us": "CASE WHEN c.status = 'refused' THEN 60 ELSE c.upstream + 100 + c.jitter END",
    "admit_us": "80",
    "ttft_us": "CASE WHEN c.status = 'ok' THEN c.first_ms * 1000 + c.jitter * 300 END",
    "upstream_us": "CASE WHEN c.status = 'refused' THEN 0 ELSE c.upstream END",
}
MOMENT = (
    "strftime('%Y-%m-%d %H:%M:', c.at_ms / 1000, 'unixepoch')"
    " || printf('%02d.%03d000', c.at_ms / 1000 % 60, c.at_ms % 1000)"
)
QUARTER = "strftime('%Y-%m-%d %H:%M:00', d.at_ms / 900000 * 900, 'unixepoch')"
ENTRIES = """
INSERT INTO accounts_ledgerentry
    (wallet_id, sequence, kind, amount_nusd, balance_nusd, source, key_id, calls, actor, reason,
     created_at)
SELECT '{workspace}', ? + row_number() OVER (ORDER BY last), 'usage', -charge,
       ? - SUM(charge) OVER (ORDER BY last), 'drain:{process}:1:' || last || ':' || key_id, key_id,
       calls, '', '', created_at
FROM (SELECT key_id, MAX(n) AS last, SUM(charge) AS charge, COUNT(*) AS calls,
             MAX(created_at) AS created_at
      FROM (SELECT d.n, c.key_id, c.charge_nusd AS charge, c.created_at,
                   row_number() OVER (PARTITION BY c.key_id ORDER BY d.n) / {batch} AS batch
            FROM dice d JOIN gateway_callrecord c ON c.id = d.call_id WHERE c.charge_nusd > 0)
      GROUP BY key_id, batch)
"""
USAGE = """
INSERT INTO gateway_usagerollup
    (starts_at, workspace_id, key_id, model, status, calls, prompt_tokens, completion_tokens,
     charge_nusd, absorbed_nusd)
SELECT {quarter}, c.workspace_id, c.key_id, c.model, c.status, COUNT(*), SUM(c.prompt_tokens),
       SUM(c.completion_tokens), SUM(c.charge_nusd), SUM(c.absorbed_nusd)
FROM dice d JOIN gateway_callrecord c ON c.id = d.call_id
GROUP BY 1, 2, 3, 4, 5
ON CONFLICT DO UPDATE SET calls = calls + excluded.calls,
    prompt_tokens = prompt_tokens + excluded.prompt_tokens,
    completion_tokens = completion_tokens + excluded.completion_tokens,
    charge_nusd = charge_nusd + excluded.charge_nusd,
    absorbed_nusd = absorbed_nusd + excluded.absorbed_nusd
"""
LATENCY = """
INSERT INTO gateway_latencyrollup (starts_at, workspace_id, model, measure, bucket, calls)
SELECT {quarter}, c.workspace_id, c.model, '{measure}',
       CASE WHEN {us} > 1 THEN CAST(ceil(log2({us}) * 12) AS INTEGER) ELSE 0 END, COUNT(*)
FROM dice d JOIN gateway_callrecord c ON c.id = d.call_id WHERE c.status = 'ok' {also}
GROUP BY 1, 2, 3, 5
ON CONFLICT DO UPDATE SET calls = calls + excluded.calls
"""
MEASURES = (
    ("total", "c.total_us", ""),
    ("added", "(c.total_us - c.upstream_us - c.failed_us)", ""),
    ("ttft", "c.ttft_us", "AND c.streamed"),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.large_database", description=__doc__)
    parser.add_argument("--home", type=Path, help="default <TOLLHOUSE_HOME>/bench/large")
    parser.add_argument("--calls", type=int, default=5_000_000)
    parser.add_argument("--days", type=int, default=60, help="over how many they are spread")
    parser.add_argument("--keys", type=int, default=50)
    options = parser.parse_args()
    var = Path(os.environ.get("TOLLHOUSE_HOME") or Path(__file__).resolve().parent.parent / "var")
    home: Path = (options.home or var / "bench" / "large").resolve()
    if (home / "tollhouse.sqlite3").exists():
        print(f"There is a database in {home} already.", file=sys.stderr)
        return 1
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ["TOLLHOUSE_HOME"] = str(home)
    os.environ["DJANGO_SETTINGS_MODULE"] = "gateway.settings"
    sys.argv[1:] = ["migrate"]  # gateway.settings lets nobody else make a database
    began_s = time.monotonic()
    installation = install(options.keys)
    (home / "bench.json").write_text(json.dumps(installation))
    fill(home / "tollhouse.sqlite3", installation, options.calls, options.days)
    size_mb = (home / "tollhouse.sqlite3").stat().st_size // 1_000_000
    print(f"{options.calls:,} calls in {home}: {size_mb:,} MB, {time.monotonic() - began_s:.0f} s")
    return 0


def install(keys: int) -> dict[str, Any]:
    """Make a workspace with an owner, models and keys; return their ids in hex."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connections

    from accounts.services import create_user, create_workspace
    from gateway.core.money import NUSD_PER_USD
    from gateway.launch import preflight
    from gateway.services.models import add_model
    from gateway.services.providers import add_provider
    from keys.services import issue_key

    actor = "bench"
    preflight.make_database()
    call_command("migrate", interactive=False, verbosity=0)
    owner = create_user(email=EMAIL, password=PASSWORD, is_operator=True, actor=actor)
    workspace = create_workspace(
        name="Bench", credit_nusd=CREDIT_USD * NUSD_PER_USD, owner=owner, actor=actor
    )
    provider = add_provider(name="bench", kind="simulated", actor=actor)
    for name, _, input_nusd, output_nusd, _ in MODELS:
        add_model(
            name=name,
            provider=provider,
            native_model="simulated",
            input_pusd=input_nusd * 1000,
            output_pusd=output_nusd * 1000,
            max_output_tokens=4096,
            actor=actor,
        )
    issued = [
        issue_key(workspace=workspace, label=f"Key {n}", created_by=owner, actor=actor)
        for n in range(keys)
    ]
    connections.close_all()
    return {
        "workspace": workspace.pk.hex,
        "keys": [each.key.pk.hex for each in issued],
        "secret": issued[0].secret,
        "model": MODELS[0][0],
    }


def fill(file: Path, installation: dict[str, Any], calls: int, days: int) -> None:
    """Write the calls, oldest first, a day at a time, up to the quarter of an hour before now."""
    database = sqlite3.connect(file, isolation_level=None)
    database.execute("PRAGMA synchronous = OFF")
    database.execute(f"PRAGMA cache_size = -{CACHE_KB}")
    _make_tables(database, installation["keys"])
    names = {"workspace": installation["workspace"], "process": uuid.uuid4().hex}
    end_ms = int(time.time() // 900 * 900 - 900) * 1000
    start_ms, step_ms = end_ms - days * DAY_S * 1000, days * DAY_S * 1000 / calls
    sequence, balance_nusd = database.execute(
        "SELECT sequence, posted_nusd FROM accounts_wallet WHERE workspace_id = ?",
        [names["workspace"]],
    ).fetchone()
    done = 0
    while done < calls:
        day_end_ms = start_ms + (done * step_ms // (DAY_S * 1000) + 1) * DAY_S * 1000
        until = min(calls, max(done + 1, int(-(-(day_end_ms - start_ms) // step_ms))))
        numbers = (done, until, start_ms, step_ms, len(installation["keys"]))
        database.execute("BEGIN")
        _write_part(database, names, numbers, (sequence, balance_nusd))
        sequence, balance_nusd = database.execute(
            "SELECT sequence, balance_nusd FROM accounts_ledgerentry WHERE wallet_id = ?"
            " ORDER BY sequence DESC LIMIT 1",
            [names["workspace"]],
        ).fetchone()
        database.execute(
            "UPDATE accounts_wallet SET sequence = ?, posted_nusd = ? WHERE workspace_id = ?",
            (sequence, balance_nusd, names["workspace"]),
        )
        database.execute("COMMIT")
        done = until
        print(f"\r{done:,} calls", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    for table in ("dice", "bench_keys", "bench_models", "bench_outcomes"):
        database.execute(f"DROP TABLE temp.{table}")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()


def _write_part(
    database: sqlite3.Connection, names: dict[str, str], numbers: tuple[Any, ...], entries: Any
) -> None:
    database.execute("DELETE FROM dice")
    database.execute(DICE.replace("abs(random()) >> 4\n", "abs(random()) >> 4, NULL\n"), numbers)
    database.execute(f"UPDATE dice AS c SET call_id = {VALUES['id']}")
    database.execute(_calls_statement(names))
    database.execute(ENTRIES.format(**names, batch=CALLS_PER_BATCH), entries)
    database.execute(USAGE.format(quarter=QUARTER))
    for measure, us, also in MEASURES:
        database.execute(LATENCY.format(quarter=QUARTER, measure=measure, us=us, also=also))


def _calls_statement(names: dict[str, str]) -> str:
    from gateway.models import CallRecord

    columns: dict[str, str] = {}
    for field in CallRecord._meta.concrete_fields:
        name = str(field.column)
        if name in VALUES:
            columns[name] = VALUES[name].format(**names, moment=MOMENT)
        elif field.null:
            columns[name] = "NULL"
        else:
            default = field.get_default()
            columns[name] = repr(default if isinstance(default, str) else int(default))
    quoted = ", ".join(f'"{name}"' for name in columns)
    return CALLS.format(columns=quoted, values=", ".join(columns.values()))


def _make_tables(database: sqlite3.Connection, keys: list[str]) -> None:
    """Make the tables of what is drawn for each call, and what it is drawn from."""
    database.execute(
        "CREATE TEMP TABLE dice (n INTEGER PRIMARY KEY, at_ms, key_no, model_no, outcome_no,"
        " prompt, completion, jitter, high, variant, low, call_id)"
    )
    database.execute("CREATE TEMP TABLE bench_keys (n INTEGER PRIMARY KEY, id)")
    database.execute("CREATE TEMP TABLE bench_models (name, least, most, input, output, first_ms)")
    database.execute("CREATE TEMP TABLE bench_outcomes (status, least, most, basis, http, code)")
    database.executemany("INSERT INTO bench_keys VALUES (?, ?)", enumerate(keys))
    least = 0
    for name, share, input_nusd, output_nusd, first_ms in MODELS:
        row = (name, least, least + share, input_nusd, output_nusd, first_ms)
        database.execute("INSERT INTO bench_models VALUES (?, ?, ?, ?, ?, ?)", row)
        least += share
    least = 0
    for status, share, basis, http, code in OUTCOMES:
        outcome = (status, least, least + share, basis, http, code)
        database.execute("INSERT INTO bench_outcomes VALUES (?, ?, ?, ?, ?, ?)", outcome)
        least += share


if __name__ == "__main__":
    sys.exit(main())
