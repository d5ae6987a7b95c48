"""An engine that does what it is asked to: answers, raises, hangs, ends, takes memory."""

from __future__ import annotations

import os
import time

MEMORY_BYTES = 512 * 2**20


def handle(request: dict[str, object]) -> dict[str, object]:
    match request["do"]:
        case "raise":
            raise ValueError("secret")
        case "hang":
            time.sleep(600)
        case "end":
            os._exit(9)
        case "take memory":
            return {"length": len(bytearray(2**31))}
    return {"echo": request.get("value"), "pid": os.getpid()}
