"""Run the targets under Atheris, each in a process of its own, all at the same time.

    make fuzz minutes=30                        every target, for 30 minutes
    make fuzz minutes=30 targets="stream"       one

What is found is in <work>/<target>/crashes; the corpus beside it is where the next run goes on.
Copy an input that broke something to tests/fuzz/found/<target>/, so that the tests replay it.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.fuzz.seeds import seeds_of, words_of
from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).resolve().parents[2]
LONGEST_BYTES = 2_048
# One input may take this long: all are short, so longer means that time grows without bound.
SECONDS_PER_INPUT = 10
GROWN_MB = 2_048


def main(arguments: Sequence[str]) -> int:
    """Return 0 when nothing was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--work", type=Path, default=ROOT / ".venv" / "fuzz")
    parser.add_argument("targets", nargs="*", default=list(TARGETS), metavar="target")
    options = parser.parse_args(arguments)
    if importlib.util.find_spec("atheris") is None:
        parser.exit(1, "Atheris is not installed: `make fuzz` brings it, for Python up to 3.13.\n")
    running = {
        name: start(name, options.work / name, seconds=round(options.minutes * 60))
        for name in options.targets
    }
    codes = {name: process.wait() for name, process in running.items()}
    for name, code in codes.items():
        sys.stdout.write(f"{name:9} {summary(options.work / name, code)}\n")
    return int(any(codes.values()))


def start(target: str, work: Path, *, seconds: int) -> subprocess.Popen[bytes]:
    """Start fuzzing one target. Its seeds are written beside its corpus, which stays."""
    for folder in ("corpus", "seeds", "crashes"):
        (work / folder).mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds_of(target)):
        (work / "seeds" / f"{number:04}").write_bytes(seed[:LONGEST_BYTES])
    dictionary = work / "words"
    dictionary.write_text("".join(f'"{spell(word)}"\n' for word in words_of(target)))
    options = {
        "dict": dictionary,
        "artifact_prefix": f"{work / 'crashes'}/",
        "max_len": LONGEST_BYTES,
        "max_total_time": seconds,
        "timeout": SECONDS_PER_INPUT,
        "rss_limit_mb": GROWN_MB,
        "print_final_stats": 1,
    }
    flags = [f"-{name}={value}" for name, value in options.items()]
    folders = [str(work / "corpus"), str(work / "seeds")]
    command = [sys.executable, "-m", "tests.fuzz.guided", target, *flags, *folders]
    with (work / "log").open("wb") as log:
        return subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)


def spell(word: bytes) -> str:
    """Return the word as the fuzzer's dictionary has it."""
    return "".join(f"\\x{byte:02x}" for byte in word)


def summary(work: Path, code: int) -> str:
    """Return one line on how a run went."""
    log = (work / "log").read_text(errors="replace")
    runs = re.search(r"number_of_executed_units: *(\d+)", log)
    covered = re.findall(r"cov: (\d+) ft: (\d+)", log)
    crashes = sorted(str(path) for path in (work / "crashes").iterdir())
    parts = [
        f"{runs[1] if runs else '?'} inputs",
        f"{covered[-1][0] if covered else '?'} places and {covered[-1][1] if covered else '?'}"
        " features covered",
        "nothing found" if not code else f"ended with {code}: see {work / 'log'}",
        *crashes,
    ]
    return ", ".join(parts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
