"""Blocks of the Messages API."""

from __future__ import annotations

from typing import Any


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said} | more
