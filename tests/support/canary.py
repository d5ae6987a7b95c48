"""Listeners that nobody may ever connect to, on addresses of this host that are not public."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

LOOPBACK = "127.0.0.2"


class Canary:
    """hits: the address of each listener that was connected to. port: of all of them."""

    def __init__(self) -> None:
        self.hits: list[str] = []
        self.port = 0

    def urls(self) -> list[str]:
        """Return addresses that lead to the listeners, or would if anybody read them so."""
        port = self.port
        numbers = ["127.0.0.2", "2130706434", "0x7f000002", "0x7f.2", "0177.0.0.2", "127.2"]
        inside = ["localhost", "LOCALHOST.", "[::1]", "[::ffff:127.0.0.2]", "[::ffff:7f00:2]"]
        tricks = [f"user:pw@127.0.0.2:{port}", f"example.com@127.0.0.2:{port}"]
        tricks += [f"127.0.0.2:{port}#@example.com", f"example.com\\@127.0.0.2:{port}"]
        tricks += [
            f"127.0.0.2:{port}%2f@example.com",
            f"\uff11\uff12\uff17.0.0.2:{port}",
            f"127\u30020\u30020\u30022:{port}",
        ]
        return [
            *(f"http://{host}:{port}/canary" for host in numbers + inside),
            *(f"http://{trick}/canary" for trick in tricks),
            f"https://127.0.0.2:{port}/canary",
        ]


@contextmanager
def listening_canary() -> Iterator[Canary]:
    """Listen at one port on IPv4 and IPv6 loopback, and fail when anybody has connected."""
    canary = Canary()
    with ExitStack() as stack:
        first = stack.enter_context(socket.create_server((LOOPBACK, 0)))
        canary.port = first.getsockname()[1]
        listeners = {LOOPBACK: first}
        with suppress(OSError):  # a host without IPv6
            six = socket.create_server(("::1", canary.port), family=socket.AF_INET6)
            listeners["::1"] = stack.enter_context(six)
        threads = [
            threading.Thread(target=_watch, args=(listener, address, canary), daemon=True)
            for address, listener in listeners.items()
        ]
        for thread in threads:
            thread.start()
        yield canary
        for listener in listeners.values():
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
        for thread in threads:
            thread.join()
    assert canary.hits == []


def _watch(listener: socket.socket, address: str, canary: Canary) -> None:
    with suppress(OSError):
        while True:
            link, _ = listener.accept()
            canary.hits.append(address)
            link.close()
