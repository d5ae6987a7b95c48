"""What `up` says to the person at the terminal, who may be gone."""

from __future__ import annotations

import io
import os

from gateway.management.commands.up import Command


def test_a_line_that_cannot_be_written_ends_nothing() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    raw = os.fdopen(writer, "wb", buffering=0)
    stdout = io.TextIOWrapper(raw, write_through=True)

    Command(stdout=stdout)._say("The server ended (SIGKILL); starting it again in 1 s.")

    raw.close()
