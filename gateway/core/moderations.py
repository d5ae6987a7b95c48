"""A request for moderation, and what a model finds in its inputs."""

from __future__ import annotations

import msgspec

from gateway.core.call import Call, Payload
from gateway.core.events import AnswerMeter
from gateway.core.money import Usage


class ModerationsRequest(Payload, frozen=True, kw_only=True):
    """Texts and pictures to judge."""

    operation = "moderations"

    texts: tuple[str, ...] = ()
    # Results that are asked for: one a text, or one for texts and pictures together.
    results: int = 1
    # An upper bound of all inputs together.
    prompt_tokens_bound: int = 0


ModerationsCall = Call[ModerationsRequest]


class ModerationsAnswer(msgspec.Struct, frozen=True):
    """One result for each input, as the provider wrote it."""

    results: list[msgspec.Raw]
    usage: Usage | None

    def note(self, meter: AnswerMeter) -> None:
        meter.count_other_output(len(self.results))

    def forget(self) -> None:
        self.results.clear()
