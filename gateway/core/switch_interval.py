"""How long a thread may keep the interpreter while another thread waits for it.

With Python's own 5 ms the event loop, which carries the calls, would wait again and again beside a
thread that computes. A shorter interval at all times would cost the loop itself: it would be
interrupted as often.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

LONG_SWITCH_S = sys.getswitchinterval()
SHORT_SWITCH_S = 0.000_5
_lock = Lock()
_active = 0


@contextmanager
def short_switch_interval() -> Iterator[None]:
    """While any such block lasts, threads hand the interpreter over sooner. Any thread may ask."""
    global _active
    with _lock:
        _active += 1
        sys.setswitchinterval(SHORT_SWITCH_S)
    try:
        yield
    finally:
        with _lock:
            _active -= 1
            if not _active:
                sys.setswitchinterval(LONG_SWITCH_S)
