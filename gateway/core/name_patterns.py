"""Lists of names and patterns, in which `*` stands for any characters, none included.

Nothing backtracks: patterns come from people, and what they are held against from callers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

ANY = "*"


@dataclass(frozen=True, slots=True, eq=False)
class NamePatterns:
    """Matches what is one of the names, or fits one of the patterns."""

    names: frozenset[str]
    # Patterns, each as what stands between its `*`.
    patterns: tuple[tuple[str, ...], ...]

    def match(self, text: str) -> bool:
        if text in self.names:
            return True
        return any(_fits(parts, text) for parts in self.patterns)


@lru_cache(maxsize=4096)
def compile_names(names: tuple[str, ...]) -> NamePatterns:
    """Return what matches these names and patterns. Holders of the same list share it."""
    exact = frozenset(name for name in names if ANY not in name)
    return NamePatterns(exact, tuple(tuple(name.split(ANY)) for name in names if ANY in name))


def covers(pattern: str, name: str) -> bool:
    """True when all that the name, which may be a pattern itself, stands for fits the pattern."""
    return name == pattern or (ANY in pattern and _fits(tuple(pattern.split(ANY)), name))


def first_beyond(names: Iterable[str], patterns: Iterable[str]) -> str:
    """Return the first name by the alphabet that no pattern covers; empty: there is none."""
    outer = list(patterns)
    return min((n for n in names if not any(covers(one, n) for one in outer)), default="")


def _fits(parts: tuple[str, ...], text: str) -> bool:
    start, end = len(parts[0]), len(text) - len(parts[-1])
    if start > end or not text.startswith(parts[0]) or not text.endswith(parts[-1]):
        return False
    for part in parts[1:-1]:
        found = text.find(part, start, end)
        if found < 0:
            return False
        start = found + len(part)
    return True
