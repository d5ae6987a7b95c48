"""The table of faults in docs/reliability.md: which test shows what happens, in which storage.

`make prove-faults` runs the tests of all rows on SQLite and then on PostgreSQL; options: rows=,
storage=.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.support.storage import POSTGRESQL, SQLITE, STORAGES

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reliability.md"
HEADING = "## Faults and their tests"
ROW = re.compile(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
NAME = re.compile(r"`(test_\w+)`(?: \((SQLite|PostgreSQL)\))?")
DEFINITION = re.compile(r"^(?:async )?def (test_\w+)\(", re.MULTILINE)
SPOKEN = {SQLITE: "SQLite", POSTGRESQL: "PostgreSQL"}


@dataclass(frozen=True)
class Row:
    """One fault. streamed, buffered: the tests that make such calls, or what says why none does."""

    number: int
    fault: str
    streamed: str
    buffered: str

    def tests(self, storage: str) -> list[str]:
        """Return the names of its tests that run in a storage. Some are about one alone."""
        found = NAME.findall(f"{self.streamed} {self.buffered}")
        return [name for name, only in found if only in ("", SPOKEN[storage])]


def rows() -> list[Row]:
    text = PAGE.read_text().partition(HEADING)[2].partition("\n## ")[0]
    return [
        Row(int(number), *(cell.strip() for cell in cells)) for number, *cells in ROW.findall(text)
    ]


@cache
def places() -> dict[str, list[str]]:
    """Return the files of all tests, by the tests' names."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for name in DEFINITION.findall(path.read_text()):
            found.setdefault(name, []).append(str(path.relative_to(ROOT)))
    return found


def tests_of(chosen: Sequence[Row], storage: str) -> Iterator[str]:
    """Yield each test as pytest names it, once."""
    names = {name for row in chosen for name in row.tests(storage)}
    for name in sorted(names, key=lambda name: places()[name][0]):
        yield from (f"{path}::{name}" for path in places()[name])


def run_rows(chosen: Sequence[Row], storage: str) -> bool:
    """Run the tests of these rows; True when all passed."""
    tests = list(tests_of(chosen, storage))
    sys.stdout.write(f"{storage}: {len(chosen)} rows, {len(tests)} tests\n")
    sys.stdout.flush()
    env = os.environ | {"TEST_DATABASE": storage}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", *tests]
    return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode == 0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", default="", help="numbers, separated by commas; empty: all")
    parser.add_argument("--storage", choices=STORAGES, default=None)
    options = parser.parse_args(arguments)
    wanted = {int(number) for number in options.rows.split(",") if number}
    chosen = [row for row in rows() if not wanted or row.number in wanted]
    storages = [options.storage] if options.storage else STORAGES
    passed = [run_rows(chosen, storage) for storage in storages]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
