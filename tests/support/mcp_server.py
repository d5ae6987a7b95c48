"""A real MCP server in a process of its own: `python -m tests.support.mcp_server PORT TOKEN`.

Every request needs the header `authorization: Bearer TOKEN`.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.servers import ROOT
from tests.support.waiting import wait_until

TOKEN = "mcp-canary-0123456789abcdef"


@contextmanager
def running_mcp_server() -> Iterator[str]:
    """Run the server and return the URL where it is asked."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "tests.support.mcp_server", str(port), TOKEN]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: _accepts(port), what="the MCP server")
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.kill()
        process.wait()


def _accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 5).close()
    except OSError:
        return False
    return True


def main(port: int, token: str) -> None:
    import uvicorn
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from starlette.types import ASGIApp, Receive, Scope, Send

    server = MCPServer("weather")

    @server.tool()
    def forecast(city: str) -> str:
        """Return tomorrow's weather of a city."""
        return f"Sunny in {city}."

    @server.tool(name="add.numbers")
    def add(first: int, second: int) -> int:
        """Add two numbers."""
        return first + second

    @server.tool()
    def fail() -> str:
        """Fail, quoting a credential."""
        raise ToolError(f"The token {token} is no good.")

    @server.tool()
    def much() -> str:
        """Return two megabytes."""
        return "x" * 2_000_000

    @server.tool()
    async def hang() -> str:
        """Never return."""
        await asyncio.sleep(3_600)
        return "late"

    app = server.streamable_http_app()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        headers = dict(scope.get("headers") or ())
        if scope["type"] == "http" and headers.get(b"authorization") != f"Bearer {token}".encode():
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        await app(scope, receive, send)

    protected: ASGIApp = guarded
    uvicorn.run(protected, host="127.0.0.1", port=port, log_level="warning")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
