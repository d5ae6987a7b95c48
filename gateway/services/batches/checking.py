"""The first look at a batch: every line of its file, before the first request is made."""

from __future__ import annotations

import time

from gateway.file_storage.encryption import DecryptingReader
from gateway.models import Batch
from gateway.services.batches.leasing import RENEW_EVERY_S, BatchLease
from gateway.services.batches.lines import LineError, find_places, read_line, read_raw

MAX_ERRORS = 100
MAX_LINES = 50_000

Finding = dict[str, str | int | None]


def check_lines(
    batch: Batch, reader: DecryptingReader, lease: BatchLease
) -> tuple[int, list[Finding]]:
    """Return how many requests there are, and what is wrong with them. Raises LeaseLost."""
    seen: set[str] = set()
    errors: list[Finding] = []
    total, renewed = 0, time.monotonic()
    for place in list(find_places(reader, 0, 0)):
        total += 1
        try:
            line = read_line(read_raw(reader, place), place, batch.endpoint)
            if line.custom_id in seen:
                raise LineError("duplicate_custom_id", "custom_id is used twice.", "custom_id")
            seen.add(line.custom_id)
        except LineError as error:
            errors.append(finding(error.code, error.message, error.param, place.number + 1))
            if len(errors) >= MAX_ERRORS:
                break
        if time.monotonic() - renewed > RENEW_EVERY_S:
            lease.renew()
            renewed = time.monotonic()
    if not total:
        errors.append(finding("empty_file", "The input file has no requests."))
    if total > MAX_LINES:
        errors.append(finding("too_many_lines", f"The maximum is {MAX_LINES} requests."))
    return total, errors


def finding(code: str, message: str, param: str | None = None, line: int | None = None) -> Finding:
    return {"code": code, "message": message, "param": param, "line": line}
