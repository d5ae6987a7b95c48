"""`python -m bench`: start everything, measure, print one table, leave a JSON file, clean up."""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path

import uvloop

from bench import installation, personal_data, prompt_attacks
from bench.measures import BASIC_MEASURES, Field, Plan, warm_up
from bench.noise import QUIET_SHARE, Crowd
from bench.programs import LOAD_CPU, ROOT, BenchError, Programs, is_serving, pin
from bench.report import Results, Row, combined, rows, table
from bench.translated import embeddings, translated

# On a machine so busy that starting up takes its time, the whole still ends within three minutes.
HURRY_S = 100
MEASURES = BASIC_MEASURES | {"translated": translated, "embeddings": embeddings}
PROCESSOR_REPORTS = (personal_data.report, prompt_attacks.report)
LIBRARIES = ("uvicorn", "uvloop", "httptools", "msgspec", "django")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short round of each measure")
    parser.add_argument(
        "--processors",
        action="store_true",
        help="instead: how well processors find what they look for, in our own corpora",
    )
    parser.add_argument("--only", action="append", choices=MEASURES, help="repeatable")
    parser.add_argument(
        "--against", type=Path, help="a checkout of another version, measured in turns with this"
    )
    parser.add_argument("--rounds", type=int, help="how often each subject takes its turn")
    parser.add_argument(
        "--starts",
        type=int,
        default=1,
        help="how often all programs are started anew, with all rounds each time. Processes of the"
        " same version differ by several percent, for as long as they run",
    )
    parser.add_argument("--out", type=Path, help="the JSON file; default <home>/bench/<time>.json")
    return parser.parse_args()


async def measure(field: Field, names: list[str], *, hurry_at: float) -> Results:
    """Return what could be measured; what could not is said at once.

    hurry_at: from this moment (time.monotonic) on, one short round of each must do.
    """
    await warm_up(field)
    results: Results = {}
    for name in names:
        if time.monotonic() > hurry_at:
            field = replace(field, plan=Plan.quick())
        print(f"Measuring: {name}", file=sys.stderr, flush=True)
        try:
            results[name] = await MEASURES[name](field)
        except BenchError as error:
            print(f"Not measured: {name}: {error}", flush=True)
    return results


def run(folder: Path, plan: Plan, names: list[str], against: Path | None) -> Results:
    """Start the programs in a scratch folder, measure, and end them. Raises BenchError."""
    with ExitStack() as stack:
        programs = stack.enter_context(Programs(folder))
        upstream = programs.start_upstream()
        key = installation.set_up(programs, upstream, names)
        gateway = programs.start_gateway()
        relay = programs.start_relay(upstream)
        if not is_serving(gateway, key):
            raise BenchError(f"the gateway refuses its key:\n{gateway.log.read_text()[-2000:]}")
        before, before_key = None, ""
        if against is not None:
            other = stack.enter_context(Programs(folder / "before", against.resolve()))
            before_key = installation.set_up(other, upstream, names)
            before = other.start_gateway("before")
            if not is_serving(before, before_key):
                raise BenchError("the gateway of the other checkout refuses its key")
            plan = plan.in_short_turns()
        # A comparison takes as long as it takes.
        hurry_at = time.monotonic() + HURRY_S if against is None else math.inf
        pin(LOAD_CPU)
        field = Field(gateway, relay, upstream, key, plan, before, before_key)
        return uvloop.run(measure(field, names, hurry_at=hurry_at))


def run_often(
    folder: Path, plan: Plan, names: list[str], against: Path | None, starts: int
) -> Results:
    """Do as `run` with new programs each time; return what all show. Raises BenchError."""
    each = []
    for number in range(starts):
        if starts > 1:
            print(f"Start {number + 1} of {starts}", file=sys.stderr, flush=True)
        each.append(run(folder / str(number), plan, names, against))
    return combined(each)


def as_json(results: Results, lines: list[Row], others_share: float) -> str:
    document = {
        "measured_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in LIBRARIES},
        "others_share": round(others_share, 3),
        "rows": [asdict(row) | {"is_met": row.is_met} for row in lines],
        "figures": results,
    }
    return json.dumps(document, indent=2) + "\n"


def main() -> int:
    options = read_options()
    if options.processors:
        print("\n".join(report() for report in PROCESSOR_REPORTS))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the programs are ended too
    home = Path(os.environ.get("TOLLHOUSE_HOME") or ROOT / "var").resolve() / "bench"
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    # On the disk that an installation would use: the journal's and the database's fsync count.
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=home))
    plan = Plan.quick() if options.quick else Plan()
    if options.rounds:
        plan = replace(plan, rounds=options.rounds, paced_rounds=options.rounds)
    crowd = Crowd()
    try:
        names = options.only or list(MEASURES)
        results = run_often(folder, plan, names, options.against, options.starts)
    except BenchError as error:
        print(f"Nothing was measured: {error}", file=sys.stderr)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    lines = rows(results)
    others_share = crowd.others_share()
    out = options.out or home / f"{time.strftime('%Y%m%d-%H%M%S')}.json"
    out.write_text(as_json(results, lines, others_share))
    print(table(lines))
    if others_share > QUIET_SHARE:
        print(
            f"\nOther programs used {others_share:.0%} of the machine meanwhile: not a quiet run."
        )
    print(f"\nEvery figure: {out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
