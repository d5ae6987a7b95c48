"""Lets a server process run these engines. It has less patience than usual with a request that
makes one hang, and more with all others, whatever else the machine does."""

from __future__ import annotations

from gateway.processors import engine_pool, services
from gateway.processors.engine_worker import Response
from tests.flows.processors.faulty_engines import HANGING

ask = engine_pool.EngineProcess.ask


async def ask_patiently(
    process: engine_pool.EngineProcess, frame: bytes, limit_s: float
) -> Response:
    return await ask(process, frame, 0.2 if HANGING.encode() in frame else 60.0)


engine_pool.PACKAGE = "tests.flows.processors.faulty_engines"
engine_pool.RETRY_AFTER_S = (0.01, 0.01, 0.01)
engine_pool.EngineProcess.ask = ask_patiently  # type: ignore[method-assign, assignment]
of_services = services.ServiceClient.__init__.__kwdefaults__
assert of_services is not None
of_services |= {"run_s": 1.0, "retry_after_s": (0.01, 0.01, 0.01)}
