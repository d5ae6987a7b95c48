"""`python -m tests.faults.flood anonymous keys documents --seconds 60 --connections 500`"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.faults.flood.attacker import KINDS
from tests.faults.flood.drill import as_lines, run_drill
from tests.support.servers import prepare_home


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.flood")
    parser.add_argument("kinds", nargs="*", choices=[*KINDS, []], default=list(KINDS))
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--connections", type=int, default=500)
    parser.add_argument("--provider-ms", type=int, default=0)
    options = parser.parse_args()
    for kind in options.kinds:
        with tempfile.TemporaryDirectory(prefix="tollhouse-flood-") as folder:
            home = Path(folder) / "home"
            prepare_home(home)
            report = run_drill(
                *(home, kind),
                connections=options.connections,
                quiet_s=15.0,
                flood_s=options.seconds,
                provider_ms=options.provider_ms,
            )
        sys.stdout.write("\n".join([*as_lines(report), "", ""]))
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
