"""A clock of a process's own that a test can set, by libfaketime."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.support.require import do_without

LIBRARY = "libfaketimeMT.so.1"


@dataclass(frozen=True)
class FakeClock:
    """The wall clock of every process with this environment; other clocks are as they are."""

    file: Path
    library: Path

    @property
    def environment(self) -> dict[str, str]:
        return {
            "LD_PRELOAD": str(self.library),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }

    def be_off_by(self, seconds: int) -> None:
        """Set the clock this much ahead of the true time, or behind it."""
        draft = self.file.with_suffix(".draft")
        draft.write_text(f"{seconds:+d}\n")
        draft.rename(self.file)


def fake_clock(folder: Path) -> FakeClock:
    """Return a clock that is right. Skips without the library."""
    places = [Path("/usr/lib/faketime"), *Path("/usr/lib").glob("*/faketime")]
    found = [place / LIBRARY for place in places if (place / LIBRARY).exists()]
    if not found:
        do_without(f"{LIBRARY} is not installed: the system package faketime brings it")
    clock = FakeClock(folder / "clock", found[0])
    clock.be_off_by(0)
    return clock
