"""Write the golden files anew: `python -m tests.golden.record`. Look at what changed, with git."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.flows.site import running_site
from tests.golden.cases import CASES, FOLDER, PROFILES, file_of, make_callers, perform
from tests.support.servers import prepare_home


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="tollhouse-golden-") as folder:
        home = Path(folder) / "home"
        prepare_home(home)
        with running_site(home) as site:
            callers = make_callers(site)
            for profile in PROFILES:
                (FOLDER / profile).mkdir(exist_ok=True)
                for case in CASES:
                    file_of(profile, case).write_text(perform(callers, profile, case))
    sys.stdout.write(f"Wrote {len(PROFILES) * len(CASES)} files.\n")


if __name__ == "__main__":
    main()
