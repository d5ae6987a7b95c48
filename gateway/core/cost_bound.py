"""What a call may cost at most: what a hold has to cover."""

from __future__ import annotations

import msgspec

from gateway.core.money import PUSD_PER_NUSD, Price


class CostBound(msgspec.Struct, frozen=True, kw_only=True):
    """The most that a call can cost on one model. Rates are pico-USD."""

    # The highest of each rate over the model's targets.
    price: Price
    # What is owed before any output: the prompt, and fees.
    prompt_pusd: int
    # One output token of every answer together; 0 where output costs nothing.
    token_pusd: int
    # Output tokens that each answer may have; 0 for operations whose output has none.
    limit_tokens: int
    # What the caller allowed; None when there was no limit.
    asked_tokens: int | None = None
    # Answers that are asked for.
    n: int = 1
    # The most that the prompt can be, for limits on tokens.
    prompt_tokens: int = 0

    @property
    def want_nusd(self) -> int:
        """What a hold must have to cover the most expensive possible outcome."""
        return -(-(self.prompt_pusd + self.limit_tokens * self.token_pusd) // PUSD_PER_NUSD)

    @property
    def least_nusd(self) -> int:
        """What a hold must have to cover a single token of output."""
        return -(-(self.prompt_pusd + min(self.limit_tokens, 1) * self.token_pusd) // PUSD_PER_NUSD)

    def affordable_tokens(self, hold_nusd: int) -> int:
        """Return how many output tokens of each answer a hold covers; below 1 it covers none."""
        if hold_nusd >= self.want_nusd:
            return self.limit_tokens
        if not self.token_pusd:
            return -1
        return (hold_nusd * PUSD_PER_NUSD - self.prompt_pusd) // self.token_pusd

    def cap(self, affordable_tokens: int) -> tuple[int, int | None]:
        """Return the output tokens of each answer that are paid for, and the limit to send
        upstream: None where the caller's own limit may stay as it is."""
        limit = self.limit_tokens
        cap = limit if limit < affordable_tokens else affordable_tokens
        return cap, cap if cap < (self.asked_tokens or self.limit_tokens) else None
