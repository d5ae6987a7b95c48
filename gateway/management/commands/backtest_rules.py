"""backtest_rules: which past calls would these limits have refused?"""

from __future__ import annotations

import shlex
import sys
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from accounts.management.json_command import Answer, JsonCommand
from accounts.selectors import get_workspace
from accounts.untyped import Options
from gateway.backtest.past_calls import Scope
from gateway.backtest.proposal import Proposal
from gateway.backtest.report import MAX_LISTED, Findings, assumptions
from gateway.backtest.rule_file import read_rules
from gateway.backtest.run import backtest
from gateway.core.json_types import JsonObject
from gateway.management.commands.set_limit_rule import (
    FIXED,
    add_rule_options,
    read_change,
    read_holder,
)
from keys.limit_rules import values_of
from keys.limit_words import counted_words, holder_words
from keys.management.limit_rule_options import read_limit_values, write_limit_rule
from keys.selectors import get_key

MAX_DAYS = 3_660
MAX_LATEST = 10**9
# Rules that are in the table though they refuse nothing.
SHOWN_RULES = 50
NONE = "Specify the limits to try: a FILE, --current or --set."


class Command(JsonCommand):
    help = (
        "Show which recent calls a set of limits would have refused. Changes nothing; "
        "the server can keep running."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "file",
            nargs="?",
            metavar="FILE",
            help="The limits, as list_limit_rules --json writes them (-: standard input).",
        )
        parser.add_argument(
            "--current", action="store_true", help="Start from the limits that are set."
        )
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="OPTIONS",
            help="Add a limit, or change one with --rule ID: in one argument, the options of "
            "set_limit_rule. Repeatable.",
        )
        parser.add_argument(
            "--remove",
            action="append",
            default=[],
            metavar="ID",
            help="Leave this limit out. Repeatable.",
        )
        parser.add_argument("--days", default="7", metavar="N", help="Default: 7.")
        parser.add_argument(
            "--latest", metavar="N", help="Only the newest calls, N at most. Default: all."
        )
        parser.add_argument("--workspace", help="Only its calls: workspace ID, slug or name.")
        parser.add_argument(
            "--key", help="Only its calls: key ID (preferred), last 4 characters, or the secret."
        )
        parser.add_argument("--list", action="store_true", help="List the refused calls.")

    def answer(self, **options: object) -> Answer:
        return _run(options)

    def describe(self, answer: Answer) -> str:
        return "\n".join(_lines(cast(JsonObject, answer)))


def _run(options: Options) -> Answer:
    days = _read_number("days", options["days"], MAX_DAYS)
    latest = _read_number("latest", options["latest"], MAX_LATEST) if options["latest"] else None
    key = get_key(options["key"]) if options["key"] else None
    workspace = get_workspace(options["workspace"]) if options["workspace"] else None
    if key is not None:
        if workspace is not None and workspace.pk != key.workspace_id:
            raise ValueError("The key belongs to another workspace.")
        workspace = key.workspace
    proposal = Proposal()
    if options["current"]:
        proposal.add_current(workspace)
    if options["file"]:
        proposal.add(read_rules(*_read_file(options["file"])))
    elif not (options["current"] or options["set"]):
        raise ValueError(NONE)
    for rule_id in options["remove"]:
        proposal.remove(rule_id)
    for line in options["set"]:
        _set(proposal, line)
    until = timezone.now()
    scope = Scope(
        since=until - timedelta(days=days),
        until=until,
        workspace_id=workspace.pk if workspace else None,
        key_id=key.pk if key else None,
    )
    rules = list(proposal)
    found = backtest(rules, scope, lists=options["list"], latest=latest)
    return _write(found, scope, assumptions(rules))


def _read_number(name: str, text: str, highest: int) -> int:
    """Raises ValueError."""
    if text.isascii() and text.isdigit() and 1 <= int(text[:12]) <= highest:
        return int(text)
    raise ValueError(f"--{name}: Enter a whole number from 1 to {highest:,}.")


def _read_file(name: str) -> tuple[str, str]:
    """Return the text and what to call it. Raises CommandError."""
    try:
        if name == "-":
            return sys.stdin.read(), "standard input"
        return Path(name).read_text(encoding="utf-8"), name
    except (OSError, ValueError) as error:
        raise CommandError(f"{name} cannot be read: {error}.") from error


def _set(proposal: Proposal, line: str) -> None:
    """Raises CommandError with the options that cannot be taken, ValidationError."""
    parser = CommandParser(prog="--set", add_help=False, allow_abbrev=False)
    add_rule_options(parser)
    try:
        options = vars(parser.parse_args(shlex.split(line)))
        if options["rule"] is None:
            proposal.add_new(read_holder(options), read_limit_values(options))
            return
        rule = proposal.get(options["rule"])
        wanted = read_change(options, values_of(rule))
        proposal.change(rule, {name: wanted[name] for name in wanted if name not in FIXED})
    except (CommandError, ValueError, LookupError) as error:
        sentence = str(error).removeprefix("Error: ")
        raise CommandError(f"--set {line[:200]!r}: {sentence}") from None


def _write(found: Findings, scope: Scope, assumed: Sequence[str]) -> Answer:
    labels = found.labels()
    answer: Answer = {
        "from": found.since.isoformat(),
        "is_shortened": found.since > scope.since,
        "to": scope.until.isoformat(),
        "calls": found.calls,
        "refused": found.refused,
        "share": round(found.share(found.refused), 6),
        "refused_otherwise": found.refused_otherwise,
        "queued": found.queued,
        "longest_wait_s": found.longest_us / 10**6,
        "rules": [
            {
                **write_limit_rule(one.rule),
                "for": holder_words(one.rule),
                "counted": counted_words(one.rule),
                "refused": one.refused,
                "share": round(found.share(one.refused), 6),
                "first": one.first.isoformat() if one.first else None,
                "last": one.last.isoformat() if one.last else None,
                "keys": [
                    {"key_id": key, "label": labels.get(key), "refused": refused}
                    for key, refused in one.most_hit()
                ],
            }
            for one in found.by_rule.values()
        ],
        "assumptions": list(assumed),
    }
    if found.listed is not None:
        answer["refused_calls"] = [
            {"id": str(call_id), "rule_id": rule_id} for call_id, rule_id in found.listed
        ]
    return answer


def _lines(answer: JsonObject) -> Iterator[str]:
    calls, refused, rules = answer["calls"], answer["refused"], answer["rules"]
    if answer["is_shortened"]:
        yield "Only the newest calls were read (--latest)."
    period = f"{_moment(answer['from'])} to {_moment(answer['to'])} UTC"
    yield f"Calls from {period}: {calls:,}. Refused: {refused:,} ({_percent(answer['share'])})."
    if answer["refused_otherwise"]:
        yield f"Refused at the time for another reason, left out: {answer['refused_otherwise']:,}."
    if answer["queued"]:
        longest = f"the longest {answer['longest_wait_s']:.1f} s"
        yield f"Admitted after a wait for a slot: {answer['queued']:,}, {longest}."
    yield ""
    yield from _table(rules)
    yield ""
    yield "Assumed:"
    yield from (f"- {sentence}" for sentence in answer["assumptions"])
    if "refused_calls" in answer:
        yield ""
        yield "Refused calls:"
        words = {rule["rule_id"]: f"{rule['for']}: {rule['limit']}" for rule in rules}
        for call in answer["refused_calls"]:
            yield f"{call['id']}  {words[call['rule_id']]}"
        if len(answer["refused_calls"]) == MAX_LISTED:
            yield f"Only the first {MAX_LISTED:,} are listed."


def _table(rules: Sequence[JsonObject]) -> Iterator[str]:
    if len(rules) <= SHOWN_RULES:
        shown = list(rules)
    else:
        shown = [rule for rule in rules if rule["refused"]]
    head = ("Level", "For", "Limit", "Refused", "Share", "First", "Last")
    rows = [head, *(_cells(rule) for rule in shown)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    for row, rule in zip(rows, [None, *shown], strict=True):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for key in rule["keys"] if rule else ():
            yield f"    {key['label'] or key['key_id']}: {key['refused']:,}"
    if len(shown) < len(rules):
        yield f"{len(rules) - len(shown):,} more limits refuse no call."


def _cells(rule: JsonObject) -> tuple[str, ...]:
    counted = f" ({rule['counted']})" if rule["counted"] else ""
    return (
        rule["level"],
        rule["for"],
        rule["limit"] + counted + ("" if rule["enabled"] else ", disabled"),
        f"{rule['refused']:,}",
        _percent(rule["share"]),
        _moment(rule["first"]),
        _moment(rule["last"]),
    )


def _percent(share: float) -> str:
    return f"{share:.1%}".replace("%", " %")


def _moment(text: str | None) -> str:
    return f"{datetime.fromisoformat(text):%Y-%m-%d %H:%M}" if text else "-"
