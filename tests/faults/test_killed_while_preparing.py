"""The first start is killed while it migrates and seeds; the next one goes on."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.servers import ROOT, environment, prepare_home, run_manage, running_gateway

pytestmark = pytest.mark.slow

KILLED_AFTER_S = (0.9, 1.2, 1.5, 2.0)


def test_a_start_that_was_killed_anywhere_is_followed_by_a_good_one(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for after_s in KILLED_AFTER_S:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "prepare", "--json"],
            env=environment(home),
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        with suppress(subprocess.TimeoutExpired):
            process.wait(after_s)
        process.kill()
        process.wait()

    prepare_home(home)

    with running_gateway(home) as server:
        assert server.chat()["choices"]
    assert run_manage(home, "prove").returncode == 0


DIES_BEFORE_IT_RECORDS = """
import os
import django
from django.core.management import call_command
from django.db.migrations.executor import MigrationExecutor

django.setup()
record = MigrationExecutor.record_migration

def die_or_record(executor, migration):
    if str(migration) == "keys.0006_imported_keys":
        os._exit(9)
    record(executor, migration)

MigrationExecutor.record_migration = die_or_record
call_command("prepare", "--json")
"""


def test_a_start_killed_between_a_migration_and_its_record_is_followed_by_a_good_one(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    died = subprocess.run(
        [sys.executable, "-c", DIES_BEFORE_IT_RECORDS],
        env=environment(home) | {"DJANGO_SETTINGS_MODULE": "gateway.settings"},
        cwd=ROOT,
        check=False,
    )
    assert died.returncode == 9

    prepare_home(home)
