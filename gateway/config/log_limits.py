"""How much is logged of what anybody can cause: a line a refusal, and of a flood a few lines.

A kind of line is a place in the code, and the status where it is about a request. Each may be
logged LINES times at once and then once in EVERY_S; how many were left out is said in a line every
SUM_UP_S.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock, Timer

LINES = 30
EVERY_S = 10.0
SUM_UP_S = 30.0
# With date, level and logger, a line is at most 200 bytes long.
MAX_REFUSAL_CHARS = 120
CONTROLS = re.compile(r"[^ -~]")

Kind = tuple[str, int, str, int, int]


@dataclass(slots=True)
class Flow:
    """allowed: how many lines may be logged now, as of `at`. left_out: since the last sum."""

    allowed: float
    at: float
    left_out: int = 0


class LimitLines(logging.Filter):
    """Warnings and errors only: what is below has been asked for."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._lock = Lock()
        self._flows: dict[Kind, Flow] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.WARNING:
            return True
        status = int(getattr(record, "status_code", 0))
        kind = (record.name, record.levelno, record.pathname, record.lineno, status)
        return self._take(kind)

    def _take(self, kind: Kind) -> bool:
        now = self._clock()
        with self._lock:
            flow = self._flows.get(kind)
            if flow is None:
                flow = self._flows[kind] = Flow(LINES, now)
            flow.allowed = min(flow.allowed + (now - flow.at) / EVERY_S, LINES)
            flow.at = now
            if flow.allowed >= 1:
                flow.allowed -= 1
                return True
            flow.left_out += 1
            if flow.left_out == 1:
                timer = Timer(SUM_UP_S, self._sum_up, [kind])
                timer.daemon = True
                timer.start()
            return False

    def _sum_up(self, kind: Kind) -> None:
        with self._lock:
            left_out, self._flows[kind].left_out = self._flows[kind].left_out, 0
        name, level, _, line, status = kind
        about = f"status {status}" if status else f"line {line}"
        logging.getLogger(name).log(
            level, "%d more lines like this (%s) were left out.", left_out, about
        )


class ShortenRefusals(logging.Filter):
    """Makes one line of a refusal: a traceback adds nothing, and of a text that the caller chose a
    part is enough. Behind the filter that hides secrets, which has to see them whole."""

    def filter(self, record: logging.LogRecord) -> bool:
        if 400 <= int(getattr(record, "status_code", 0)) < 500:
            message = CONTROLS.sub("?", record.getMessage())
            if len(message) > MAX_REFUSAL_CHARS:
                message = f"{message[: MAX_REFUSAL_CHARS - 3]}..."
            record.msg, record.args = message, ()
            record.exc_info = record.exc_text = None
        return True
