"""Engines run beside the server, and nothing that happens to one of them is lost in silence."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from gateway.core.processor_errors import ProcessorFailure
from gateway.processors import engine_pool
from gateway.processors.engine_pool import EnginePool

ENGINE = "tests.gateway.processors.engines.faulty"


@asynccontextmanager
async def running(run_s: float = 30.0) -> AsyncIterator[EnginePool]:
    pool = EnginePool(run_s=run_s)
    try:
        yield pool
    finally:
        await pool.aclose()


async def test_an_engine_answers_from_a_process_of_its_own_that_is_kept() -> None:
    async with running() as pool:
        first = await pool.run(ENGINE, {"do": "echo", "value": ["é", 1, None, {"a": 0.5}]})
        second = await pool.run(ENGINE, {"do": "echo", "value": "x" * 2_000_000})

    assert first["echo"] == ["é", 1, None, {"a": 0.5}]
    assert second["echo"] == "x" * 2_000_000
    assert first["pid"] == second["pid"] != os.getpid()


@pytest.mark.parametrize("fault", ["raise", "hang", "end", "take memory"])
async def test_a_fault_is_tried_again_and_then_refuses(
    fault: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(engine_pool, "RETRY_AFTER_S", (0.0, 0.0, 0.0))
    async with running(run_s=0.5 if fault == "hang" else 30.0) as pool:
        with caplog.at_level(logging.ERROR), pytest.raises(ProcessorFailure) as refused:
            await pool.run(ENGINE, {"do": fault})
        after = await pool.run(ENGINE, {"do": "echo", "value": 1})

    assert (refused.value.status, refused.value.should_retry) == (502, False)
    assert len(caplog.records) == 4
    assert "secret" not in caplog.text
    assert after["echo"] == 1


async def test_a_process_that_was_killed_while_it_was_idle_is_replaced() -> None:
    async with running() as pool:
        first = await pool.run(ENGINE, {"do": "echo"})
        os.kill(int(str(first["pid"])), signal.SIGKILL)
        second = await pool.run(ENGINE, {"do": "echo"})

    assert second["pid"] != first["pid"]


async def test_an_engine_that_does_not_exist_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(engine_pool, "RETRY_AFTER_S", ())
    async with running() as pool:
        with pytest.raises(ProcessorFailure):
            await pool.run("no_such_engine", {})
    assert "No module named" in capfd.readouterr().err


async def test_one_owner_leaves_a_process_to_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_pool, "RETRY_AFTER_S", ())
    async with running(run_s=60.0) as pool:
        hanging = [
            asyncio.ensure_future(pool.run(ENGINE, {"do": "hang"}, owner="a")) for _ in range(3)
        ]
        other = await pool.run(ENGINE, {"do": "echo", "value": 2}, owner="b")
        for one in hanging:
            one.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)

    assert other["echo"] == 2


async def test_a_request_whose_caller_left_leaves_its_process_usable() -> None:
    async with running() as pool:
        first = await pool.run(ENGINE, {"do": "echo"})
        leaving = asyncio.ensure_future(pool.run(ENGINE, {"do": "echo", "value": "a"}))
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        after = await pool.run(ENGINE, {"do": "echo", "value": "b"})

    assert (after["echo"], after["pid"]) == ("b", first["pid"])
