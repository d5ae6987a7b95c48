"""Readers of PDFs for tests. Each has processes, which end with the test."""

from __future__ import annotations

from pathlib import Path

from gateway.files.pdf import CONVERT_S, WORKER, PdfReader

_open: list[PdfReader] = []


def new_reader(*, worker: Path = WORKER, convert_s: float = CONVERT_S) -> PdfReader:
    reader = PdfReader(worker=worker, convert_s=convert_s)
    _open.append(reader)
    return reader


async def close_readers() -> None:
    while _open:
        await _open.pop().aclose()
