"""Reads an upstream's own usage records, which `prove` compares with our calls."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from yarl import URL

from gateway.core.json_types import JsonObject
from gateway.outbound.client import FAILURES
from gateway.outbound.guarded_sockets import TooLarge
from gateway.services.outbound_clients import open_client

READ_WITHIN_S = 60
# Some 200 bytes a call.
MAX_BYTES = 256 * 1024 * 1024


def read_upstream_usage(place: str) -> list[JsonObject]:
    """Return the calls of an upstream's usage records at an http(s) URL or in a JSON file.

    Raises OSError when it cannot be read, ValueError when it is not such a list.
    """
    if place.startswith(("http://", "https://")):
        found = json.loads(asyncio.run(_fetch(place)))
    else:
        found = json.loads(Path(place).read_bytes())
    calls = found.get("calls") if isinstance(found, dict) else None
    if not isinstance(calls, list):
        raise ValueError(f"{place} is not a usage list: it has no list of calls.")
    return calls


async def _fetch(place: str) -> bytes:
    client = open_client(place, max_bytes=MAX_BYTES)
    try:
        async with asyncio.timeout(READ_WITHIN_S):
            reply = await client.send(URL(place), method="GET", headers={})
    except TooLarge:
        raise ValueError(f"{place} has more than {MAX_BYTES // 2**20} MB.") from None
    except TimeoutError:
        raise OSError(f"{place} did not answer within {READ_WITHIN_S} s.") from None
    except FAILURES as error:
        raise OSError(f"{place}: {str(error) or type(error).__name__}") from error
    finally:
        await client.aclose()
    if reply.status != 200:
        raise OSError(f"{place} answered {reply.status}.")
    return reply.content
