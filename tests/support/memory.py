"""How much memory a server has had at most, as the kernel counts it."""

from __future__ import annotations

from pathlib import Path


def peak_bytes(pid: int) -> int:
    """Return the most memory that a process has had, since it began or was last forgotten."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) * 1024


def forget_peak(pid: int) -> int:
    """Have the peak begin anew, and return what the process has now."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    return peak_bytes(pid)
