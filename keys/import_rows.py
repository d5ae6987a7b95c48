"""A CSV file of keys that were issued elsewhere, read into rows. Its secrets end here.

No error repeats what a cell says: where columns are mixed up, that may be a secret.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from django.core.exceptions import ValidationError
from django.utils import timezone

from gateway.core.json_types import JsonObject
from gateway.core.money import read_usd
from keys.imported_secret import find_guessable, read_digest, read_secret
from keys.limits import read_limits
from keys.models import CompatProfile, Scope, default_scopes
from keys.rules import LABEL_CHARS, KeyRules, as_json, read_rules
from keys.secret import KeptSecret

MAX_ROWS = 2_000
MAX_BYTES = 1024 * 1024
DELIMITERS = ",;\t"
SECRET, DIGEST, LAST4 = "secret", "sha256", "last4"
# Columns of limits, with the field of each in keys.models.
COUNTS = {
    "requests_per_minute": "max_requests_per_minute",
    "burst": "burst",
    "concurrent": "max_concurrent",
}
AMOUNTS = {
    "daily_usd": "daily_limit_nusd",
    "weekly_usd": "weekly_limit_nusd",
    "monthly_usd": "monthly_limit_nusd",
    "total_usd": "total_limit_nusd",
}
_NAMED = {name: column for column, name in (COUNTS | AMOUNTS).items()} | {
    "label": "name",
    "allowed_models": "models",
    "allowed_ips": "ips",
}
COLUMNS = (
    *(SECRET, DIGEST, LAST4, "name", "member", "profile", "models", "ips", "scopes", "expires_at"),
    *COUNTS,
    *AMOUNTS,
)
# What the columns of other products' exports are called.
_ALIASES = {
    "key": SECRET,
    "api_key": SECRET,
    "sha_256": DIGEST,
    "digest": DIGEST,
    "label": "name",
    "email": "member",
    "expires": "expires_at",
}
_NOT_A_COUNT = "Enter a whole number, or leave empty for no limit."
_NOT_AN_AMOUNT = "Enter an amount in USD such as 12.50, or leave empty for no limit."
_WORDS = {
    "models": "Enter model names separated by semicolons, or leave empty for all models.",
    "ips": "Enter networks such as 203.0.113.0/24 separated by semicolons, or leave empty for all.",
    "scopes": f"Enter scopes separated by semicolons: some of {', '.join(Scope.values)}.",
    "expires_at": "Enter a future time such as 2030-01-31 or 2030-01-31T12:00:00Z.",
    "profile": f"Enter one of {', '.join(CompatProfile.values)}, or leave empty.",
}


class Problem(NamedTuple):
    """Why the file cannot be taken. line: of the file, from 1. column: empty for the whole line."""

    line: int
    column: str
    words: str

    def __str__(self) -> str:
        where = f"line {self.line}" + (f", {self.column}" if self.column else "")
        return f"{where}: {self.words}"


@dataclass(frozen=True, kw_only=True)
class ImportRow:
    """A key to be imported, without its secret."""

    line: int
    kept: KeptSecret
    # Nobody has shown the secret itself.
    by_digest: bool
    # Email of the member whose key it is to be; empty: nobody's own.
    member: str
    profile: str
    rules: KeyRules
    # As keys.limits.read_limits returns them.
    limits: dict[str, int | None]

    def to_json(self) -> JsonObject:
        return vars(self) | {"kept": list(self.kept), "rules": as_json(self.rules)}

    @classmethod
    def from_json(cls, stored: JsonObject) -> ImportRow:
        moment = stored["rules"]["expires_at"]
        rules = stored["rules"] | {"expires_at": moment and datetime.fromisoformat(moment)}
        return cls(**stored | {"kept": KeptSecret(*stored["kept"]), "rules": rules})


def read_rows(content: bytes) -> tuple[list[ImportRow], list[Problem]]:
    """Return the rows of a CSV file, and why others cannot be taken, each in order of lines.

    The first line names the columns, any of COLUMNS in any order; `secret` or `sha256` is needed.
    """
    try:
        header, lines = _cells_of(content)
        columns = _columns_of(header)
    except _Unreadable as error:
        return [], [error.problem]
    rows: list[ImportRow] = []
    problems: list[Problem] = []
    first_lines: dict[str, int] = {}
    count = 0
    try:
        for line, cells in lines:
            count += 1
            if count > MAX_ROWS:
                problems.append(Problem(line, "", f"A file can have at most {MAX_ROWS:,} keys."))
                break
            row = _read_row(line, columns, cells, problems)
            if row is None:
                continue
            first = first_lines.setdefault(row.kept.digest, line)
            if first != line:
                problems.append(Problem(line, "", f"Duplicate of the key in line {first}."))
            rows.append(row)
    except _Unreadable as error:
        problems.append(error.problem)
    if not count and not problems:
        problems.append(Problem(1, "", "The file contains no keys."))
    guessable = find_guessable({row.kept.digest for row in rows if row.by_digest})
    words = "This is the digest of a key that is easy to guess."
    problems += [Problem(r.line, DIGEST, words) for r in rows if r.kept.digest in guessable]
    return rows, sorted(problems, key=lambda problem: problem.line)


class _Unreadable(Exception):
    """Nothing from here on can be read."""

    def __init__(self, line: int, words: str) -> None:
        self.problem = Problem(line, "", words)


def _cells_of(content: bytes) -> tuple[list[str], Iterator[tuple[int, list[str]]]]:
    """Return the cells of the first line, and those of each further one that says something."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in content[:1000]:
        raise _Unreadable(1, "The file is not UTF-8. Save it as CSV in UTF-8.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _Unreadable(line, "The file is not UTF-8. Save it as CSV in UTF-8.") from None
    if text.lstrip()[:1] in ("[", "{"):
        raise _Unreadable(
            1, "The file is JSON. Save it as CSV, with the columns in the first line."
        )
    first = next(iter(text.strip().splitlines()), "")
    delimiter = max(DELIMITERS, key=first.count) if first else ","
    lines = _lines_of(text, delimiter)
    _, header = next(lines, (1, []))
    return header, lines


def _lines_of(text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the number of the line that it begins in."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    begins = 1
    while True:
        try:
            cells = next(reader, None)
        except csv.Error:
            words = "This line is not valid CSV. Check the quotation marks."
            raise _Unreadable(begins, words) from None
        if cells is None:
            return
        stripped = [cell.strip() for cell in cells]
        if any(stripped):
            yield begins, stripped
        begins = reader.line_num + 1


def _columns_of(header: list[str]) -> list[str]:
    """Return the column that each cell of a row belongs to."""
    wanted = ["_".join(cell.lower().replace("-", " ").split()) for cell in header]
    columns = [_ALIASES.get(name, name) for name in wanted]
    if SECRET not in columns and DIGEST not in columns:
        # Not what is there: a file without a header begins with a secret.
        words = f"The first line must name the columns. One of them must be {SECRET} or {DIGEST}."
        raise _Unreadable(1, words)
    known = ", ".join(COLUMNS)
    for place, name in enumerate(columns, 1):
        if name not in COLUMNS:
            # A name with digits in it may be a key.
            is_name = name.replace("_", "").isalpha() and len(name) <= 40
            shown = f"{name!r}" if is_name else "unknown"
            words = f"Column {place} is {shown}. Remove or rename it. Valid columns: {known}."
            raise _Unreadable(1, words)
        if columns.count(name) > 1:
            raise _Unreadable(1, f"The column {name} occurs twice.")
    return columns


def _read_row(
    line: int, columns: list[str], cells: list[str], problems: list[Problem]
) -> ImportRow | None:
    """Return the row, or None with the reasons among the problems."""
    if len(cells) != len(columns):
        words = f"This line has {len(cells)} columns, the first has {len(columns)}."
        problems.append(Problem(line, "", words))
        return None
    row = dict.fromkeys(COLUMNS, "") | dict(zip(columns, cells, strict=True))
    found: dict[str, str] = {}
    kept = _read_kept(row, found)
    rules = _read_rules(row, kept, found)
    limits = _read_limits(row, found)
    if row["profile"] and row["profile"].lower() not in CompatProfile.values:
        found["profile"] = _WORDS["profile"]
    problems += [Problem(line, column, words) for column, words in found.items()]
    if found or kept is None or rules is None:
        return None
    return ImportRow(
        line=line,
        kept=kept,
        by_digest=not row[SECRET],
        member=row["member"].lower(),
        profile=row["profile"].lower(),
        rules=rules,
        limits=limits,
    )


def _read_kept(row: Mapping[str, str], found: dict[str, str]) -> KeptSecret | None:
    """Return what is kept of the row's secret, or None with the reason."""
    column = SECRET if row[SECRET] else DIGEST
    if bool(row[SECRET]) == bool(row[DIGEST]):
        found[""] = f"Enter either {SECRET} or {DIGEST}."
        return None
    try:
        if column == SECRET:
            return read_secret(row[SECRET])
        return read_digest(row[DIGEST], row[LAST4])
    except ValueError as error:
        found[column] = str(error)
        return None


def _read_rules(
    row: Mapping[str, str], kept: KeptSecret | None, found: dict[str, str]
) -> KeyRules | None:
    if row[SECRET] and row[SECRET] in row["name"]:
        found["name"] = "The name must not contain the key, because other members see the name."
        return None
    unnamed = "Imported key" if kept is None else f"Imported {kept.hint or kept.digest[:8]}"
    try:
        return read_rules(
            label=row["name"] or unnamed,
            scopes=_list_of(row["scopes"]) or default_scopes(),
            allowed_models=_list_of(row["models"]),
            allowed_ips=_list_of(row["ips"]) or None,
            expires_at=_moment_of(row["expires_at"]),
            allow_any_address=False,
        )
    except ValidationError as error:
        for name in error.error_dict:
            column = _NAMED.get(name, name)
            own = f"Enter 1 to {LABEL_CHARS} visible characters."
            found[column] = _WORDS.get(column, own)
    except ValueError:
        found["expires_at"] = _WORDS["expires_at"]
    return None


def _read_limits(row: Mapping[str, str], found: dict[str, str]) -> dict[str, int | None]:
    wanted: dict[str, int | None] = {}
    for column, name in COUNTS.items():
        text = row[column]
        wanted[name] = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
        if text and wanted[name] is None:
            found[column] = _NOT_A_COUNT
    for column, name in AMOUNTS.items():
        try:
            wanted[name] = read_usd(row[column]) if row[column] else None
        except ValueError:
            found[column] = _NOT_AN_AMOUNT
    try:
        return read_limits(wanted)
    except ValidationError as error:
        for name, errors in error.message_dict.items():
            found.setdefault(_NAMED.get(name, name), errors[0])
        return {}


def _list_of(text: str) -> list[str]:
    return [item.strip() for item in text.split(";") if item.strip()]


def _moment_of(text: str) -> datetime | None:
    """Return the moment, in UTC where no zone is given. Raises ValueError."""
    if not text:
        return None
    moment = datetime.fromisoformat(text)
    return moment if timezone.is_aware(moment) else moment.replace(tzinfo=UTC)
