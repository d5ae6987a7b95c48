"""Server-sent events as callers get them. What providers send is read by providers.framing.sse.

Constants, which writers join: a function would cost a call for every frame.
"""

from __future__ import annotations

DATA = b"data: "
END = b"\n\n"
DONE = DATA + b"[DONE]" + END
# A comment, which clients pass over.
KEEP_ALIVE = b": keep-alive" + END
