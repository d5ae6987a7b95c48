"""Are the totals that pages read the sums of the calls they stand for? Rules of `prove`.

Calls and totals are added up against each other in the database, which needs little memory for
it however many there are.
"""

from __future__ import annotations

from django.db import connection

from gateway.services.invariants import Invariant

# The quarter of an hour in which a call began, as the totals have it.
_QUARTER = {
    "sqlite": "(substr(created_at, 1, 14)"
    " || printf('%%02d:00', CAST(substr(created_at, 15, 2) AS INTEGER) / 15 * 15))",
    "postgresql": "to_timestamp(floor(extract(epoch FROM created_at) / 900) * 900)",
}


def rollup_rules() -> tuple[Invariant, ...]:
    """Return the rules in the words of the database in use."""
    quarter = quarter_of_calls()
    return (_usage(quarter), _latency(quarter))


def quarter_of_calls() -> str:
    """Return SQL for the quarter of an hour in which a call began."""
    return _QUARTER[connection.vendor]


def _usage(quarter: str) -> Invariant:
    return Invariant(
        "I13b",
        "usage totals are the sums of the calls",
        "SELECT COUNT(*) FROM rolled_usage",
        f"""
        SELECT quarter || ' key ' || key_id || ' ' || model || ' ' || status
            || ': calls less totals: ' || SUM(calls) || ' calls, ' || SUM(prompt) || ' and '
            || SUM(completion) || ' tokens, ' || SUM(charged) || ' and ' || SUM(absorbed) || ' nUSD'
        FROM (SELECT {quarter} AS quarter, workspace_id, key_id,
                     CASE WHEN status = 'refused' THEN '' ELSE model END AS model, status,
                     counted_calls AS calls, prompt_tokens AS prompt,
                     completion_tokens AS completion,
                     charge_nusd AS charged, absorbed_nusd AS absorbed
              FROM calls WHERE status <> 'in_progress'
              UNION ALL
              SELECT starts_at, workspace_id, key_id, model, status, -calls, -prompt_tokens,
                     -completion_tokens, -charge_nusd, -absorbed_nusd
              FROM rolled_usage) both_sides
        GROUP BY quarter, workspace_id, key_id, model, status
        HAVING SUM(calls) <> 0 OR SUM(prompt) <> 0 OR SUM(completion) <> 0
            OR SUM(charged) <> 0 OR SUM(absorbed) <> 0
        """,  # noqa: S608 (constants only)
    )


def _latency(quarter: str) -> Invariant:
    return Invariant(
        "I13c",
        "latency counts cover every call that ended well",
        "SELECT COUNT(*) FROM calls WHERE status = 'ok'",
        f"""
        SELECT quarter || ' ' || model || ': calls less totals: ' || SUM(total) || ' total, '
            || SUM(added) || ' added, ' || SUM(ttft) || ' to first event'
        FROM (SELECT {quarter} AS quarter, workspace_id, model, 1 AS total, 1 AS added,
                     CASE WHEN streamed AND ttft_us IS NOT NULL THEN 1 ELSE 0 END AS ttft
              FROM calls WHERE status = 'ok'
              UNION ALL
              SELECT starts_at, workspace_id, model,
                     CASE WHEN measure = 'total' THEN -calls ELSE 0 END,
                     CASE WHEN measure = 'added' THEN -calls ELSE 0 END,
                     CASE WHEN measure = 'ttft' THEN -calls ELSE 0 END
              FROM rolled_latency) both_sides
        GROUP BY quarter, workspace_id, model
        HAVING SUM(total) <> 0 OR SUM(added) <> 0 OR SUM(ttft) <> 0
        """,  # noqa: S608 (constants only)
    )
