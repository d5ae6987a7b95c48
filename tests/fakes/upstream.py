"""The fake upstream: a provider in its own process that does whatever a test tells it to.

    python -m tests.fakes.upstream --port 0

prints `{"port": N}` as its first line and serves OpenAI's dialect on /v1/chat/completions and
/v1/embeddings, Anthropic's on /anthropic/v1/messages and Gemini's on /gemini/v1beta, until it is
ended. script.py has the language its calls are scripted in, routes.py what else it answers. It
keeps a token book (book.py) that nothing of the product can write to.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import signal
import sys

import uvloop

from tests.fakes.book import TokenBook
from tests.fakes.connection import Connection, House

BACKLOG = 4096


def main() -> None:
    parser = argparse.ArgumentParser(description="A scriptable provider for tests and load runs.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--cpu", type=int, help="stay on this core")
    parser.add_argument("--book-limit", type=int, default=200_000, help="entries kept, latest last")
    options = parser.parse_args()
    if options.cpu is not None:
        os.sched_setaffinity(0, {options.cpu})
    _raise_file_limit()
    uvloop.run(_serve(options.host, options.port, TokenBook(options.book_limit)))


async def _serve(host: str, port: int, book: TokenBook) -> None:
    house = House(book)
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    server = await loop.create_server(lambda: Connection(house), host, port, backlog=BACKLOG)
    sys.stdout.write(json.dumps({"port": server.sockets[0].getsockname()[1]}) + "\n")
    sys.stdout.flush()
    await stop.wait()
    server.close()
    for connection in list(house.connections):
        connection.reset()


def _raise_file_limit() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    main()
