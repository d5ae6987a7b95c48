"""Runs backtest_rules for a page: in a process of its own, so that calls do not wait for it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from threading import Lock

from django.conf import settings

from gateway.core.json_types import JsonObject
from keys.management.limit_rule_options import write_limit_rule
from keys.models import LimitRule

DAYS = 7
LATEST = 100_000
TIMEOUT_S = 60.0
_running = Lock()


class TrialFailed(Exception):
    """Says why, for people."""


def try_limit(rule: LimitRule) -> JsonObject:
    """Return what the rule alone would have refused of the last DAYS days' calls, the newest
    LATEST, as backtest_rules --json shows it. rule: in the database or not. Raises TrialFailed.

    One at a time: each takes a core for seconds.
    """
    if not _running.acquire(blocking=False):
        raise TrialFailed("Another limit is being tried. Try again in a moment.")
    try:
        return _run(rule)
    finally:
        _running.release()


def _run(rule: LimitRule) -> JsonObject:
    nice = shutil.which("nice")
    command = [nice, "-n", "10"] if nice else []
    command += [sys.executable, str(settings.BASE_DIR / "manage.py"), "backtest_rules", "-"]
    command += ["--json", "--days", str(DAYS), "--latest", str(LATEST)]
    if rule.workspace_id is not None:
        command += ["--workspace", str(rule.workspace_id)]
    written = json.dumps(write_limit_rule(rule))
    try:
        done = subprocess.run(  # noqa: S603 (the command is ours)
            command, input=written, capture_output=True, text=True, timeout=TIMEOUT_S, check=True
        )
        found: JsonObject = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        raise TrialFailed(
            f"The trial took longer than {TIMEOUT_S:.0f} s. Use manage.py backtest_rules."
        ) from None
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        raise TrialFailed("The limit could not be tried. Use manage.py backtest_rules.") from error
    return found
