"""What the generations of Gemini take, read off a model's name.

Sources: ai.google.dev/gemini-api/docs/generate-content/thinking (levels, budgets; 3.7 Flash knows
no minimal), .../generate-content/whats-new-gemini-3.6 (candidates), google-gemini/cookbook#1290
(penalties), vercel/ai#8943 (penalties from 2.5 on).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

GENERATION = re.compile(r"^gemini-(\d+)(?:\.(\d+))?-")
UNNAMED = (2, 5)
MISSING = "gemini-missing"


@dataclass(frozen=True, slots=True)
class Model:
    """A model, and what its generation takes."""

    name: str
    generation: tuple[int, int]

    @property
    def levels(self) -> tuple[str, ...]:
        if self.generation < (3, 0):
            return ()
        if self.generation >= (3, 7) or "-pro" in self.name:
            return ("LOW", "MEDIUM", "HIGH")
        return ("MINIMAL", "LOW", "MEDIUM", "HIGH")

    @property
    def budgets(self) -> range:
        """The budgets that it takes; 0 is a matter of its own."""
        if self.generation < (2, 5):
            return range(0)
        if "-pro" in self.name:
            return range(128, 32_769)
        return range(512 if "lite" in self.name else 1, 24_577)

    @property
    def takes_no_budget(self) -> bool:
        return "-pro" not in self.name

    @property
    def takes_penalties(self) -> bool:
        return self.generation == (2, 0)

    @property
    def takes_candidates(self) -> bool:
        return self.generation < (3, 0)

    @property
    def signs_calls(self) -> bool:
        return self.generation >= (3, 0)


def read_model(name: str) -> Model:
    found = GENERATION.match(name)
    return Model(name, (int(found[1]), int(found[2] or 0)) if found else UNNAMED)
