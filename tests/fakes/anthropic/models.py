"""What the generations of Claude take, read off a model's name.

`claude-opus-4-7` is of generation (4, 7). A name without one, such as `fake`, is of (4, 5): the
last that takes everything of anthropic-version 2023-06-01. Sources: docs.aws.amazon.com
claude-messages-adaptive-thinking (who takes which thinking), platform.claude.com
docs/en/api/errors "Prefill not supported" (4.6 and later), oumi-ai/oumi#2538 (sampling, from 4.7
on), cloud-apim/otoroshi-llm-extension#140 (temperature or top_p, from 4.1 on).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

GENERATION = re.compile(r"^claude-(?:[a-z]+-)?(\d+)(?:-(\d{1,2}))?(?:[-@]|$)")
UNNAMED = (4, 5)
# anthropics/claude-code#11302, #24451 and OpenHands/OpenHands#11090 quote the refusals.
MOST_TOKENS = {(3, 0): 4096, (3, 5): 8192, (4, 0): 64_000, (4, 5): 64_000}
MISSING = "claude-missing"


@dataclass(frozen=True, slots=True)
class Model:
    """A model, and what its generation takes."""

    name: str
    generation: tuple[int, int]

    @property
    def most_tokens(self) -> int:
        if self.generation >= (4, 6):
            return 128_000
        return max(
            (n for since, n in MOST_TOKENS.items() if since <= self.generation), default=4096
        )

    @property
    def takes_budget(self) -> bool:
        return (3, 7) <= self.generation < (4, 7)

    @property
    def takes_adaptive(self) -> bool:
        return self.generation >= (4, 6)

    @property
    def takes_effort(self) -> bool:
        return self.generation >= (4, 6) or self.name.startswith("claude-opus-4-5")

    @property
    def takes_format(self) -> bool:
        return self.generation >= (4, 5)

    @property
    def takes_prefill(self) -> bool:
        return self.generation < (4, 6)

    @property
    def takes_sampling(self) -> bool:
        return self.generation < (4, 7)

    @property
    def takes_both_samplings(self) -> bool:
        return self.generation < (4, 1)


def read_model(name: str) -> Model:
    found = GENERATION.match(name)
    if found is None:
        return Model(name, UNNAMED)
    return Model(name, (int(found[1]), int(found[2] or 0)))
