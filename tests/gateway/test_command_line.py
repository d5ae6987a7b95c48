"""The same commands as a shell runs them: what is on which stream, and the exit status."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from django.core.management import call_command, get_commands, load_command_class

from accounts.management.database_command import DatabaseCommand
from accounts.management.newer_database import OUR_APPS
from tests.support.servers import run_manage

EVERY_COMMAND = [
    *("create_workspace", "grant_credits", "issue_key", "revoke_key"),
    *("add_provider", "set_provider", "add_model", "set_model", "reseal_credentials"),
]
# Their own checks come first, or, with restore, the database is not used.
CHECK_BY_THEMSELVES = {"up", "migrate", "prepare", "restore", "move_to_postgres"}


def test_a_failure_is_one_json_object_on_standard_error_and_status_1(tmp_path: Path) -> None:
    done = run_manage(tmp_path, "create_workspace", "Acme", "--credit", "x", "--json")

    assert (done.returncode, done.stdout) == (1, "")
    assert set(json.loads(done.stderr)) == {"error"}


def test_a_failure_for_people_is_one_sentence_without_a_stack_trace(tmp_path: Path) -> None:
    done = run_manage(tmp_path, "create_workspace", "Acme", "--credit", "x")

    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_database_that_was_never_set_up_is_said_in_json_too(tmp_path: Path) -> None:
    done = run_manage(tmp_path, "create_workspace", "Acme", "--json")

    assert (done.returncode, done.stdout) == (1, "")
    assert "There is no database" in json.loads(done.stderr)["error"]


@pytest.mark.parametrize("command", [("create_workspace", "Acme"), ("prove",)])
def test_a_database_that_is_not_there_is_named(tmp_path: Path, command: tuple[str, ...]) -> None:
    done = run_manage(tmp_path, *command)

    assert (done.returncode, done.stdout) == (1, "")
    assert "Traceback" not in done.stderr
    assert str(tmp_path / "tollhouse.sqlite3") in done.stderr
    assert "manage.py prepare" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("prove",),
        ("grant_credits", "Demo", "1", "--reason", "a test"),
        ("backup", "backup"),
        ("migrate",),
        ("prepare",),
        ("up",),
    ],
    ids=lambda command: command[0],
)
def test_no_command_uses_a_database_that_a_newer_version_has_migrated(
    home: Path, command: tuple[str, ...]
) -> None:
    with closing(sqlite3.connect(home / "tollhouse.sqlite3")) as database, database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) "
            "VALUES ('gateway', '9999_from_the_future', '2030-01-01')"
        )
    done = run_manage(home, *command)
    helped = run_manage(home, command[0], "--help")

    assert (done.returncode, done.stdout) == (1, "")
    assert len(done.stderr.splitlines()) == 1
    assert (
        f"The database {home / 'tollhouse.sqlite3'} is newer than this version of Tollhouse, which "
        "does not know gateway.9999_from_the_future: start the version that last used it, or "
        "restore a backup."
    ) in done.stderr
    assert helped.returncode == 0


def test_every_command_asks_whether_it_knows_the_database() -> None:
    names = {name for name, app in get_commands().items() if app in OUR_APPS}
    commands = {name: load_command_class(str(get_commands()[name]), name) for name in names}
    asking = {
        name
        for name, command in commands.items()
        if isinstance(command, DatabaseCommand) and command.needs_known_database
    }

    assert names - asking == CHECK_BY_THEMSELVES
    assert len(asking) > 40


@pytest.mark.parametrize("command", EVERY_COMMAND)
def test_help_says_what_a_command_does(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        call_command(command, "--help")

    assert end.value.code == 0
    assert "--json" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["add_provider", "set_provider"])
def test_no_command_takes_a_credential_as_an_argument(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        call_command(command, "--help")

    words = capsys.readouterr().out.replace("[", " ").replace("]", " ").split()
    assert {"--credential-env", "--credential-stdin"} <= set(words)
    assert "--credential" not in words
