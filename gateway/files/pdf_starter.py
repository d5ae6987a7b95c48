"""The process that starts the readers of PDFs: `python -m gateway.files.pdf_starter WORKER`.

    WORKER: the program that reads a PDF, which gateway.files.pdf_worker is

A server process that starts another holds up its calls for milliseconds, because nothing else runs
in it until the new process has been split off. So it starts this one, once, and this one starts a
reader for each PDF. Both run at a lower priority than who carries calls.

Standard input is a socket to the server process. Each message on it is the mode of a reader, with
two sockets: the first becomes the reader's standard input and output. To the second, the control,
its exit status is written; when the server closes the control, the reader is killed. When standard
input ends, this process ends, and its readers with it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from contextlib import suppress

# A message is far shorter, and comes as it was sent: those with descriptors are not joined.
MESSAGE_BYTES = 64
DESCRIPTORS = 2
STATUS_BYTES = 4


class Starter:
    def __init__(self, link: socket.socket, worker: str) -> None:
        self._link = link
        self._worker = worker
        self._readers: set[asyncio.Task[None]] = set()

    async def serve(self) -> None:
        """Start what is asked for until nobody is left to ask."""
        loop = asyncio.get_running_loop()
        has_ended = asyncio.Event()
        self._link.setblocking(False)
        loop.add_reader(self._link, self._take, has_ended)
        await has_ended.wait()
        loop.remove_reader(self._link)
        for reader in self._readers:
            reader.cancel()
        await asyncio.gather(*self._readers, return_exceptions=True)

    def _take(self, has_ended: asyncio.Event) -> None:
        try:
            message, descriptors, *_ = socket.recv_fds(self._link, MESSAGE_BYTES, DESCRIPTORS)
        except BlockingIOError:
            return
        except OSError:
            message, descriptors = b"", []
        if not message:
            has_ended.set()
            return
        reader = asyncio.ensure_future(self._run(message.decode(), *descriptors))
        self._readers.add(reader)
        reader.add_done_callback(self._readers.discard)

    async def _run(self, mode: str, document: int, control: int) -> None:
        """Start a reader, and tell how it ended; nothing if it could not be started."""
        with socket.socket(fileno=control) as control_socket:
            control_socket.setblocking(False)
            try:
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-I", self._worker, mode),
                    stdin=document,
                    stdout=document,
                    stderr=asyncio.subprocess.DEVNULL,
                    env={},
                    # No session of its own: Linux gives each its share of the processor, in which
                    # the lower priority counts for nothing (sched_autogroup_enabled).
                    process_group=0,
                )
            except OSError:
                return
            finally:
                os.close(document)
            left = asyncio.ensure_future(asyncio.get_running_loop().sock_recv(control_socket, 1))
            ended = asyncio.ensure_future(process.wait())
            try:
                await asyncio.wait({left, ended}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                left.cancel()
                await asyncio.gather(left, return_exceptions=True)
                if process.returncode is None:
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)  # and whatever it may have started
            status = await ended
            with suppress(OSError):
                control_socket.send(status.to_bytes(STATUS_BYTES, "big", signed=True))


def main() -> None:
    [worker] = sys.argv[1:]
    # What ends the server ends this by its standard input, when the server has let its calls end.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    asyncio.run(Starter(socket.socket(fileno=0), worker).serve())


if __name__ == "__main__":
    main()
