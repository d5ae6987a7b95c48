"""What our management commands share: an answer for people or, with --json, for scripts."""

from __future__ import annotations

import json
import sqlite3
from abc import abstractmethod
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.checks import Tags
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.core.management.base import CommandError, CommandParser
from django.db import Error as DatabaseError

from accounts.ledger import LedgerError
from accounts.management.database_command import DatabaseCommand
from accounts.management.limit_options import OPTION_NAMES
from gateway.core.postgresql_tls import explain_tls_failure

ACTOR = "command"

# PostgreSQL's codes of an undefined table and an undefined column.
_UNDEFINED = ("42P01", "42703")

# Options by the field that errors of services name, where the two are called differently.
_OPTIONS_OF_FIELDS = {
    "allowed_countries": "--country",
    "allowed_hosts": "--host",
    "allowed_ips": "--ip",
    "allowed_models": "--model",
    "amount_nusd": "--price",
    "compat_profile": "--profile",
    "credit_nusd": "--credit",
    "denied_countries": "--deny-country",
    "denied_hosts": "--deny-host",
    "denied_ips": "--deny-ip",
    "denied_models": "--deny-model",
    "denied_user_agents": "--block-user-agent",
    "expires_at": "--expires",
    "key_prefix": "--prefix",
    "native_model": "--native",
    "only_models": "--only-model",
    "price_nusd": "--price",
    "proxy_url": "--proxy",
    "scopes": "--scope",
}

# What --json shows.
Answer = dict[str, object]


class JsonCommand(DatabaseCommand):
    """A command that does one thing and answers one JSON object.

    With --json standard output holds that object and nothing else. A failure is one sentence
    on standard error, with --json as {"error": sentence}, and the exit status is 1.
    """

    # Settings are checked. To check the addresses of all pages takes longer than most commands.
    requires_system_checks: tuple[str, ...] = (Tags.security,)
    # What errors call a field of a service: the option of the command.
    option_names: Mapping[str, str] = OPTION_NAMES
    _typed = False
    _options_by_name: Mapping[str, str] = {}

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        parser = super().create_parser(prog_name, subcommand, **kwargs)
        self._options_by_name = _find_options(parser)
        return parser

    def run_from_argv(self, argv: list[str]) -> None:
        self._typed = True
        super().run_from_argv(argv)

    def check_database(self, **options: Any) -> None:
        try:
            super().check_database(**options)
        except CommandError as error:
            self._fail(str(error), as_json=options.get("json", False))

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="Answer with one JSON object.")

    @abstractmethod
    def answer(self, *args: Any, **options: Any) -> Answer:
        """Do it, and return what --json shows. Errors of services may pass through."""

    @abstractmethod
    def describe(self, answer: Answer) -> str:
        """Return the answer as people read it."""

    def handle(self, *, json: bool, **options: object) -> None:
        try:
            answer = self.answer(**options)
        except (
            *(ValidationError, ValueError, LookupError, LedgerError),
            *(ImproperlyConfigured, DatabaseError, CommandError, OSError, sqlite3.Error),
        ) as error:
            self._fail(
                _sentence(error, {**self._options_by_name, **self.option_names}), as_json=json
            )
        else:
            self.stdout.write(_encode(answer) if json else self.describe(answer))

    def _fail(self, sentence: str, *, as_json: bool) -> None:
        if not as_json:
            raise CommandError(sentence)
        if not self._typed:
            raise CommandError(_encode({"error": sentence}))
        # Django would put the exception's name before it, and then it is not JSON any more.
        self.stderr.style_func = None
        self.stderr.write(_encode({"error": sentence}))
        raise SystemExit(1)


def _find_options(parser: ArgumentParser) -> dict[str, str]:
    """Return the options of a command by the fields that errors of services name."""
    options = {
        action.dest: action.option_strings[-1]
        for action in parser._actions
        if action.option_strings
    }
    known = set(options.values())
    return options | {f: option for f, option in _OPTIONS_OF_FIELDS.items() if option in known}


def _encode(answer: Answer) -> str:
    return json.dumps(answer)


def _sentence(error: Exception, option_names: Mapping[str, str]) -> str:
    if isinstance(error, ValidationError):
        if not hasattr(error, "error_dict"):
            return " ".join(error.messages)
        return " ".join(
            f"{'' if field == '__all__' else option_names.get(field, field) + ': '}{message}"
            for field, messages in error.message_dict.items()
            for message in messages
        )
    if isinstance(error, DatabaseError):
        return say_database_error(error)
    if isinstance(error, sqlite3.Error):
        return f"SQLite: {error}."
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}." if error.filename else f"{error.strerror}."
    return str(error) or type(error).__name__


def say_database_error(error: DatabaseError) -> str:
    """Return a sentence for people on why the database does not answer."""
    file = settings.DATABASE_FILE
    if file is not None and not file.exists():
        return (
            f"There is no database {file}. Run `manage.py prepare`, or set TOLLHOUSE_HOME. If the "
            "database is on PostgreSQL, set DATABASE_URL."
        )
    reason = str(error).strip().partition("\n")[0].rstrip(".")
    if _lacks_table(error):
        name = settings.DATABASE_TITLE
        return (
            f"The database {name} is empty, or not of this version of Tollhouse ({reason}). Run "
            "`manage.py prepare`, after a backup, or set DATABASE_URL to another database."
        )
    if file is None and (
        explained := explain_tls_failure(str(error), settings.DATABASES["default"])
    ):
        return explained
    return f"The database is not available: {reason}."


def _lacks_table(error: DatabaseError) -> bool:
    """Return True when a table or column that this version reads is not there."""
    if getattr(error.__cause__, "sqlstate", None) in _UNDEFINED:
        return True
    return str(error).startswith(("no such table", "no such column"))
