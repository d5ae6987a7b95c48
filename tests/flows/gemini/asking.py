"""Contents of the Gemini API, and the configuration that reached it."""

from __future__ import annotations

from typing import Any

from tests.flows.asking import sent
from tests.flows.caller import Caller


def config(caller: Caller, **fields: Any) -> dict[str, Any]:
    """Return the generationConfig that reached the API."""
    found: dict[str, Any] = sent(caller, **fields).get("generationConfig", {})
    return found


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def text(said: str) -> dict[str, Any]:
    return {"text": said}
