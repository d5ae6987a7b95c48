"""The same commands as a shell runs them: what is on which stream, and the exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.core.management import call_command

from tests.support.servers import run_manage

EVERY_COMMAND = [
    *("create_workspace", "grant_credits", "issue_key", "revoke_key"),
    *("add_provider", "set_provider", "add_model", "set_model", "reseal_credentials"),
]


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
