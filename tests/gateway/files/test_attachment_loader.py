"""What runs beside each other to bring files, and how it ends."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from gateway.core.errors import CallerLeft, InvalidFile
from gateway.files.attachment_loader import all_of, unless_gone


class Content:
    """Stands for what a call has in memory."""


async def test_a_failure_leaves_nothing_for_the_garbage_collector() -> None:
    kept: list[weakref.ref[Content]] = []

    async def fail() -> None:
        content = Content()
        kept.append(weakref.ref(content))
        await asyncio.sleep(0)
        raise InvalidFile("The file cannot be read.")

    gc.disable()
    try:
        for _ in range(3):
            with pytest.raises(InvalidFile) as caught:
                await unless_gone(asyncio.Event().wait, all_of([fail(), asyncio.sleep(60)]))  # type: ignore[arg-type]
            del caught
            await asyncio.sleep(0)

        assert [content() for content in kept] == [None, None, None]
    finally:
        gc.enable()


async def test_the_work_ends_when_the_caller_leaves() -> None:
    ended = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    async def leave() -> None:
        await asyncio.sleep(0)

    with pytest.raises(CallerLeft):
        await unless_gone(leave, work())

    assert ended.is_set()
