"""Recompute the ledger and print a verdict."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Iterator

from django.core.checks import Tags
from django.core.management.base import CommandError
from django.db import DatabaseError

from accounts.management.database_command import DatabaseCommand
from accounts.management.json_command import say_database_error
from gateway.core.json_types import JsonObject
from gateway.core.money import format_usd
from gateway.selectors.journal_faults import describe_journal_faults
from gateway.selectors.processes import describe_losses, silent_processes
from gateway.services.proving import Finding, Proof, prove, record_proof
from gateway.services.upstream_usage import read_upstream_usage


class Command(DatabaseCommand):
    help = "Verify the ledger against all records. Read-only. Exits 1 if it does not add up."
    requires_system_checks = (Tags.security,)

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print one JSON object.")
        parser.add_argument(
            "--upstream-usage",
            metavar="FILE_OR_URL",
            help="Compare with a provider's own usage records (JSON).",
        )
        parser.add_argument(
            "--record", action="store_true", help="Store the result for the dashboard."
        )

    def handle(
        self, *, json: bool, upstream_usage: str | None, record: bool, **options: object
    ) -> None:
        proof = _prove(upstream_usage)
        if record:
            record_proof(proof)
        faults = describe_journal_faults()
        silent = [row.as_json() for row in silent_processes()]
        if json:
            self.stdout.write(_as_json(proof, faults, silent))
        else:
            self.stdout.write(self._as_text(proof))
            self.stdout.write("".join(self._rest_as_text(faults, silent)))
        if not proof.holds:
            raise SystemExit(1)

    def _as_text(self, proof: Proof) -> str:
        lines = [f"The ledger at {proof.checked_at:%Y-%m-%d %H:%M:%S} UTC", ""]
        for finding in proof.findings:
            lines += self._lines(finding)
        seen = f"{proof.calls:,} calls, {proof.entries:,} ledger entries, {proof.duration_ms} ms"
        if proof.holds:
            verdict = self.style.SUCCESS("PROVED: the ledger adds up to the nano-dollar.")
        else:
            verdict = self.style.ERROR(f"BROKEN: {_number(len(proof.breaks), 'break')}.")
        return "\n".join([*lines, "", seen, verdict])

    def _rest_as_text(self, faults: list[JsonObject], silent: list[JsonObject]) -> Iterator[str]:
        if faults:
            yield self._faults_as_text(faults)
        if silent:
            heading = (
                f"{_number(len(silent), 'dead process', 'es')} with a journal that"
                " is not posted: see the page Hosts."
            )
            yield "\n".join(["", self.style.WARNING(heading), *map(_silent_as_text, silent)])

    def _faults_as_text(self, faults: list[JsonObject]) -> str:
        count = _number(len(faults), "journal fault")
        heading = f"{count}: these records are not in the ledger as written."
        lines = [
            f"  {fault['found_at'][:19]} {fault['kind']:<9} {fault['records']:>6} records"
            f"  {fault['call_id'] or fault['reason']}  {fault['file']}"
            for fault in faults
        ]
        return "\n".join(["", self.style.WARNING(heading), *lines])

    def _lines(self, finding: Finding) -> list[str]:
        mark = self.style.ERROR("BREAK") if finding.breaks else self.style.SUCCESS("ok   ")
        line = f"  {mark} {finding.id:<5} {finding.title:<68} {finding.checked:>12,}"
        return [line, *(f"              {text}" for text in finding.breaks)]


def _prove(upstream_usage: str | None) -> Proof:
    usage = _read_usage(upstream_usage) if upstream_usage else None
    try:
        return prove(upstream_usage=usage)
    except DatabaseError as error:
        raise CommandError(say_database_error(error)) from error


def _read_usage(place: str) -> list[JsonObject]:
    try:
        return read_upstream_usage(place)
    except (OSError, ValueError) as error:
        raise CommandError(f"The usage records cannot be read: {error}") from error


def _number(count: int, noun: str, plural: str = "s") -> str:
    return f"{count:,} {noun}{'' if count == 1 else plural}"


def _silent_as_text(row: JsonObject) -> str:
    open_calls = _number(row["open_calls"], "open call")
    return (
        f"  {row['process_id']}  {row['host']}:{row['home']}  since {row['silent_since'][:19]}"
        f"  {open_calls}  {format_usd(row['reserved_nusd'])} USD reserved"
    )


def _as_json(proof: Proof, faults: list[JsonObject], silent: list[JsonObject]) -> str:
    return json.dumps(
        {
            "holds": proof.holds,
            "checked_at": proof.checked_at.isoformat(),
            "duration_ms": proof.duration_ms,
            "calls": proof.calls,
            "entries": proof.entries,
            "breaks": proof.breaks,
            "journal_faults": faults,
            "unreplayed_journals": silent,
            "lost_journals": describe_losses(),
            "invariants": [
                {
                    "id": finding.id,
                    "title": finding.title,
                    "checked": finding.checked,
                    "breaks": finding.breaks,
                }
                for finding in proof.findings
            ],
        }
    )
