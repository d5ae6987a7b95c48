"""The background worker's queue: kombu's folder of files, of which none is ever seen half-written.

kombu makes a file and then fills it, while another thread may be reading it: at a first start the
clock met the empty table of an exchange that the worker had just begun to write.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import Empty

from kombu.transport import filesystem

ALIAS = "whole-files"


class Channel(filesystem.Channel):
    """Every file appears, changes and goes in one step."""

    def _queue_bind(self, exchange: str, routing_key: str, pattern: str, queue: str) -> None:
        bound = filesystem.exchange_queue_t(routing_key or "", pattern or "", queue or "")
        with self._changing(exchange) as table:
            if bound not in table:
                table.insert(0, bound)

    def _delete(
        self,
        queue: str,
        exchange: str,
        routing_key: str,
        pattern: str,
        *args: object,
        **kwargs: object,
    ) -> None:
        self._purge(queue)  # type: ignore[no-untyped-call]
        bound = filesystem.exchange_queue_t(routing_key or "", pattern or "", queue or "")
        with self._changing(exchange) as table, suppress(ValueError):
            table.remove(bound)

    def _put(  # type: ignore[override]  # kombu disagrees with itself
        self, queue: str, payload: object, **kwargs: object
    ) -> None:
        name = f"{time.monotonic_ns():020}_{uuid.uuid4()}.{queue}.msg"
        _write(Path(self.data_folder_out) / name, payload)

    def _get(self, queue: str, timeout: float | None = None) -> object:
        folder = Path(self.data_folder_in)
        for name in sorted(os.listdir(folder)):
            if name.partition(".")[2] != f"{queue}.msg":
                continue
            taken = folder / f".{uuid.uuid4()}.taken"
            try:
                (folder / name).rename(taken)
            except FileNotFoundError:
                continue  # somebody else has it
            payload = taken.read_bytes()
            taken.unlink()
            return json.loads(payload)
        raise Empty

    @contextmanager
    def _changing(self, exchange: str) -> Iterator[list[object]]:
        """Hand out the table of an exchange, alone, and keep what was made of it."""
        folder = Path(self.control_folder)
        folder.mkdir(exist_ok=True)
        with (folder / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            table = list(self.get_table(exchange))  # type: ignore[no-untyped-call]
            yield table
            path = self._exchange_file(exchange)  # type: ignore[no-untyped-call]
            _write(path, table)


class Transport(filesystem.Transport):
    Channel = Channel


def _write(path: Path, content: object) -> None:
    unseen = path.with_name(f".{uuid.uuid4()}.new")
    unseen.write_text(json.dumps(content))
    unseen.rename(path)
