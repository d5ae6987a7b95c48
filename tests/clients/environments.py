"""Python clients that cannot live beside the others: each set in a folder of its own.

What tests/clients/python/NAME.lock names is installed once into .venv/clients/NAME, and again when
the lock changes; `python -m tests.clients.environments` does it for all of them before the tests.
Programs run there see that folder and the standard library alone.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.support.require import do_without
from tests.support.servers import ROOT

LOCKS = Path(__file__).parent / "python"
INSTALLED = Path(sys.prefix) / "clients"
INSTALL_S = 600


def install(name: str) -> Path:
    """Return the folder with what a lock names. Skips where it cannot be installed."""
    lock, folder = LOCKS / f"{name}.lock", INSTALLED / name
    stamp = folder / "installed.lock"
    with lock.open() as gate:
        # Tests run in several processes.
        fcntl.flock(gate, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_bytes() != lock.read_bytes():
            shutil.rmtree(folder, ignore_errors=True)
            run_pip(lock, folder)
            stamp.write_bytes(lock.read_bytes())
    return folder


def run_pip(lock: Path, folder: Path) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--require-hashes", "--no-deps", "--target", str(folder), "-r", str(lock)),
        ],
        capture_output=True,
        text=True,
        timeout=INSTALL_S,
        check=False,
    )
    if done.returncode:
        do_without(f"pip could not install {lock.name}: {done.stderr.strip()[-500:]}")


def command_in(folder: Path | None, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """Return the command line and the environment of a Python program.

    folder: what `install` returned; None for the packages of the tests themselves.
    """
    paths = [str(ROOT)] if folder is None else [str(folder), str(ROOT)]
    alone = [] if folder is None else ["-S"]
    env = {"PYTHONPATH": os.pathsep.join(paths)}
    env |= {n: os.environ[n] for n in ("PYTHONPYCACHEPREFIX", "SSL_CERT_FILE") if n in os.environ}
    return [sys.executable, *alone, *arguments], env


if __name__ == "__main__":
    for path in sorted(LOCKS.glob("*.lock")):
        install(path.stem)
