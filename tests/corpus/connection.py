"""A connection to the server without a socket: bytes in, bytes out."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.config import Config
from uvicorn.server import ServerState

from gateway.edge.protocol import GuardedHttpProtocol
from tests.corpus.answering import make_limiter


class Wire(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        self.written = b""
        self.is_closed = False
        self.is_paused = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("192.0.2.1", 1), "sockname": ("192.0.2.2", 80)}.get(name, default)

    def write(self, data: Any) -> None:
        assert not self.is_closed
        self.written += data

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = True

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False


class Guarded(GuardedHttpProtocol):
    # Every test calls from the same address, and many mean to be refused.
    limiter = make_limiter(refusals_per_s=0, allowed_hosts=["127.0.0.1"])


class Connection:
    """A connection to an application, without a socket."""

    def __init__(self, application: Any) -> None:
        """Call it where a loop runs."""
        config = Config(application, log_level="critical", lifespan="off", ws="none")
        config.load()
        loop = asyncio.get_running_loop()
        self.protocol = Guarded(config=config, server_state=ServerState(), app_state={}, _loop=loop)
        self.wire = Wire()
        self.protocol.connection_made(self.wire)

    async def say(self, piece: bytes) -> None:
        """Let some bytes arrive, and the application have its say."""
        self.protocol.data_received(piece)
        await self.rest()

    async def rest(self) -> None:
        """Let the application have its say."""
        for _ in range(30):
            await asyncio.sleep(0)
