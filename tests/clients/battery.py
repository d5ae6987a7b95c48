"""Programs that are clients, run one at a time: each tells what its cases came to in JSON lines.

Those for Node are installed as tests/clients/node locks them.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.require import do_without, require_binary

FOLDER = Path(__file__).parent / "node"
INSTALL_S = 300
RUN_S = 300
Report = dict[str, Any]


def install() -> str:
    """Return the path of Node, once what the lock names is installed. Skips where it cannot be."""
    path = require_binary("node", package="nodejs")
    npm = require_binary("npm", package="npm")
    with (FOLDER / "package.json").open() as gate:
        # Tests run in several processes, and npm begins with removing what another one uses.
        fcntl.flock(gate, fcntl.LOCK_EX)
        if not is_installed():
            run_npm(npm)
    return path


def is_installed() -> bool:
    """True when node_modules holds what the lock names."""
    wanted = json.loads((FOLDER / "package-lock.json").read_text())["packages"]
    there = FOLDER / "node_modules" / ".package-lock.json"
    if not there.exists():
        return False
    found = json.loads(there.read_text())["packages"]
    return {name: p["version"] for name, p in wanted.items() if name} == {
        name: p["version"] for name, p in found.items()
    }


def run_npm(npm: str) -> None:
    done = subprocess.run(
        [npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        timeout=INSTALL_S,
        check=False,
    )
    if done.returncode:
        do_without(f"npm could not install tests/clients/node: {done.stderr.strip()[-500:]}")


def run_battery(
    node: str, script: str, *, base_url: str, book: str, keys: Mapping[str, str]
) -> Report:
    """Return what each case of a script for Node came to. Raises AssertionError when one threw."""
    told = {"BASE_URL": base_url, "BOOK": book, "KEYS": json.dumps(dict(keys))}
    return run_program([node, script], FOLDER, told)


def run_program(command: list[str], folder: Path, env: Mapping[str, str]) -> Report:
    """Return what each case of a program came to. Raises AssertionError when one threw."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={"PATH": os.environ["PATH"]} | dict(env),
        capture_output=True,
        text=True,
        timeout=RUN_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    failed = {line["case"]: line["failed"] for line in lines if "failed" in line}
    assert failed == {}, failed
    return {line["case"]: line["result"] for line in lines}
