"""Messages of Converse."""

from __future__ import annotations

from typing import Any


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}
