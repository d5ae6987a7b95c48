"""The control plane beside a running gateway: orders go to a process that stays (orders.py)."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.servers import ROOT, environment

# What these add stays, and a fixture may be made twice: the same again changes nothing.
ADDING = frozenset({"provider", "model", "target"})


class Office:
    """Carries out orders one at a time, from whichever thread they come. What adds a provider, a
    model or a target is carried out once: the same order again is answered as the first was."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._lock = threading.Lock()
        self._added: dict[str, Any] = {}

    def do(self, order: str, **details: Any) -> Any:
        """Return what the order of tests.flows.orders returned. Raises AssertionError for it."""
        line = json.dumps({"do": order, **details})
        with self._lock:
            if line in self._added:
                return self._added[line]
            value = self._ask(order, line)
            if order in ADDING:
                self._added[line] = value
        return value

    def _ask(self, order: str, line: str) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, f"{order}: {answer['error']}"
        return answer["value"]


@contextmanager
def open_office(home: Path, env: Mapping[str, str] | None = None) -> Iterator[Office]:
    """Start the process that takes orders for a home; it ends with the block. env: the settings of
    its gateway."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.flows.orders"],
        cwd=ROOT,
        env=environment(home, env),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield Office(process)
        assert process.stdin is not None
        process.stdin.close()
