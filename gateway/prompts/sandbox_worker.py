"""The sandboxed process in which templates run: `python -m gateway.prompts.sandbox_worker`.

One JSON object a line on standard input, one answer a line on standard output:

    {"text": ...}                  compile it           {"names": [...]}
    {"text": ..., "values": ...}   compile and run it   {"output": ...}

or {"error": ..., "line": ...} for a template that is not valid. The process has no open files and
no secrets. The kernel kills it when a template uses up its time, inside the longest multiplication
too, and there is no answer then; its memory is limited as well.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import ParamSpec, TypeVar

from gateway.prompts.engine import InvalidTemplate, compile_template, render, warm_up
from gateway.prompts.variables import WorkerAnswer, WorkerRequest

# Of the processor, not of the clock: a busy machine makes no template slow.
RENDER_S = 0.05
COMPILE_S = 1.0
MEMORY_BYTES = 64 * 1024 * 1024
OUT_OF_MEMORY = f"Rendering needs more than {MEMORY_BYTES // 1024**2} MB of memory."

P = ParamSpec("P")
T = TypeVar("T")

compiled = lru_cache(maxsize=256)(compile_template)


def main() -> None:
    warm_up()
    confine()
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line))
        except InvalidTemplate as error:
            reply = {"error": error.reason, "line": error.line}
        except MemoryError:
            reply = {"error": OUT_OF_MEMORY, "line": None}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()


def answer(request: WorkerRequest) -> WorkerAnswer:
    """Answer one request. Raises InvalidTemplate, MemoryError; out of time, the process ends."""
    template, names = timed(COMPILE_S, compiled, request["text"])
    if "values" not in request:
        return {"names": names}
    return {"output": timed(RENDER_S, render, template, request["values"])}


def timed(limit_s: float, work: Callable[P, T], *arguments: P.args, **options: P.kwargs) -> T:
    signal.setitimer(signal.ITIMER_PROF, limit_s)
    try:
        return work(*arguments, **options)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def confine() -> None:
    """Drop what is not needed: memory, files, the signals of a terminal."""
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_FSIZE, 0)
    with suppress(OSError, IndexError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit(resource.RLIMIT_AS, pages * resource.getpagesize() + MEMORY_BYTES)
    limit(resource.RLIMIT_NOFILE, 3)


def limit(what: int, most: int) -> None:
    with suppress(OSError, ValueError):
        resource.setrlimit(what, (most, most))


if __name__ == "__main__":
    main()
