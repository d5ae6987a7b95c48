"""The hold of a tool loop, which grows round by round.

Admission holds what the first round may cost, and the fees of all uses of tools. Before each other
round the hold has to cover what was used so far and that round. When it cannot, the round is the
last: without tools, its output limited to what is covered. Limit rules have to cover it, too; when
they do not cover a token of its output, there is no other round.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from gateway.core.cost_bound import CostBound
from gateway.core.grant import Grant
from gateway.core.money import PUSD_PER_NUSD, Price, Usage, cost_nusd

# So many times shorter is what is tried where limit rules do not cover an output.
SHORTER = 4


class GrowHold(Protocol):
    """Sets more aside for a running call (gateway.admission.hold_growth)."""

    def __call__(
        self, grant: Grant, *, want_nusd: int, least_nusd: int, tokens: tuple[int, int]
    ) -> Awaitable[int | None]:
        """Have the hold be want_nusd, or as much from least_nusd on as there is. Returns what it
        is: less than least_nusd where that cannot be had, and then nothing has changed. None where
        limit rules do not cover the call's tokens (of prompts, of output) or cost."""


class CoveredRound(NamedTuple):
    """A round that may be asked for. grant: with the output that is covered."""

    grant: Grant
    has_tools: bool


class RoundHold:
    """Of one attempt of a call. price: what its target costs; fees_nusd: what the hold has for
    uses of tools."""

    def __init__(self, grow: GrowHold, grant: Grant, price: Price, *, fees_nusd: int) -> None:
        assert grant.bound is not None
        self._grow = grow
        self._grant = grant
        self._price = price
        self._bound = grant.bound
        self._fees_nusd = fees_nusd
        self._rounds_nusd = 0
        # Of prompts and of output: what rounds have used, and what the running one may use.
        self._used = (0, 0)
        self._round = (grant.bound.prompt_tokens, grant.limit_tokens)

    def used(self, usage: Usage | None) -> None:
        """Note what a round has used. One that was not counted is taken to have used up the hold,
        but for the fees."""
        if usage is None:
            self._rounds_nusd = max(self._grant.held_nusd - self._fees_nusd, 0)
            tokens = self._round
        else:
            tokens = usage.prompt_tokens, usage.completion_tokens
            self._rounds_nusd += cost_nusd(usage, self._price) + 1  # it was rounded

        self._used = self._used[0] + tokens[0], self._used[1] + tokens[1]

    async def cover(
        self, *, added_tokens: int, fees_nusd: int, has_tools: bool
    ) -> CoveredRound | None:
        """Return the next round; None when not a token of its output can be covered.

        added_tokens: a bound of what its prompt has beyond that of the first. fees_nusd: of the
        tools that have run. has_tools: they may be called in it, if the hold covers that.
        """
        added_pusd = added_tokens * self._bound.price.highest_of("prompt")
        whole = replace(self._bound, prompt_pusd=self._bound.prompt_pusd + added_pusd)
        saved_pusd = (self._fees_nusd - fees_nusd) * PUSD_PER_NUSD
        last = replace(whole, prompt_pusd=whole.prompt_pusd - saved_pusd)
        least_nusd = self._rounds_nusd + last.least_nusd
        prompt_tokens = self._bound.prompt_tokens + added_tokens
        for bound in ([whole] if has_tools else []) + smaller_and_smaller(last):
            want_nusd = self._rounds_nusd + bound.want_nusd
            output_tokens = self._used[1] + bound.limit_tokens * bound.n
            held_nusd = await self._grow(
                self._grant,
                want_nusd=want_nusd,
                least_nusd=least_nusd,
                tokens=(self._used[0] + prompt_tokens, output_tokens),
            )
            if held_nusd is None:
                continue
            if held_nusd < least_nusd:
                return None
            is_whole = bound is whole and held_nusd >= want_nusd
            sent = last if bound is whole else bound
            cap, sent_cap = sent.cap(sent.affordable_tokens(held_nusd - self._rounds_nusd))
            self._round = prompt_tokens, cap * sent.n
            grant = replace(self._grant, limit_tokens=cap * sent.n, cap_tokens=sent_cap)
            return CoveredRound(grant, is_whole)
        return None


def smaller_and_smaller(last: CostBound) -> list[CostBound]:
    """Return what a last round may be: as long as it was asked for, or shorter and shorter where
    limit rules do not cover that."""
    found, asked_tokens = [last], last.asked_tokens or last.limit_tokens
    while (tokens := found[-1].limit_tokens // SHORTER) >= 1:
        found.append(replace(last, limit_tokens=tokens, asked_tokens=asked_tokens))
    return found
