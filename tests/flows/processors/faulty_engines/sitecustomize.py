"""Lets a serving process run these engines, with less patience than usual."""

from __future__ import annotations

from gateway.processors import engine_pool, services

engine_pool.PACKAGE = "tests.flows.processors.faulty_engines"
engine_pool.RETRY_AFTER_S = (0.01, 0.01, 0.01)
defaults = engine_pool.EnginePool.__init__.__kwdefaults__
assert defaults is not None
defaults["run_s"] = 1.0
of_services = services.ServiceClient.__init__.__kwdefaults__
assert of_services is not None
of_services |= {"run_s": 1.0, "retry_after_s": (0.01, 0.01, 0.01)}
