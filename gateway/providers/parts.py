"""An attempt whose inputs a provider takes in several requests only.

They go out side by side, a few at a time, and their answers are one. When one fails, the attempt
has failed (docs/adr/0068).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NoReturn

from gateway.core.embeddings import EmbeddingsAnswer, join_embeddings
from gateway.core.errors import UnsupportedParameter
from gateway.core.events import Answer
from gateway.core.rerank import RerankAnswer, join_rankings
from gateway.providers.exchange import ProviderExchange

# Requests of one call that a provider has at the same time.
AT_ONCE = 8


class PartsExchange:
    """Used once, as any exchange."""

    __slots__ = ("_parts",)

    def __init__(self, parts: Sequence[ProviderExchange]) -> None:
        self._parts = parts

    @property
    def was_sent(self) -> bool:
        return any(part.was_sent for part in self._parts)

    async def read(self) -> Answer:
        limit = asyncio.Semaphore(AT_ONCE)

        async def read(part: ProviderExchange) -> Answer:
            async with limit:
                return await part.read()

        tasks = [asyncio.create_task(read(part)) for part in self._parts]
        try:
            return join_answers(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def open_stream(self) -> NoReturn:
        raise UnsupportedParameter("There is no stream of this.", param="stream")


def join_answers(answers: Sequence[Answer]) -> Answer:
    """Return answers of one kind as one."""
    embeddings = [answer for answer in answers if isinstance(answer, EmbeddingsAnswer)]
    if embeddings:
        return join_embeddings(embeddings)
    return join_rankings([answer for answer in answers if isinstance(answer, RerankAnswer)])
