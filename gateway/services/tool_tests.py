"""Tests a server tool with one real run, which its service may bill. No workspace is charged."""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.changes import record_audit
from gateway.core.errors import GatewayError
from gateway.outbound.permitted_addresses import read_networks
from gateway.services.outbound_clients import open_client, open_proxied_client
from gateway.services.snapshot import compile_snapshot
from gateway.services.tool_settings import find_setting, get_tool, record_of
from gateway.services.tool_trial import TrialParts, run_once
from gateway.snapshot.tools import ToolRecord
from gateway.tools.backends import MAX_BACKEND_BYTES
from gateway.tools.base import ServerTool, ToolFailed
from gateway.tools.choose import find_problem
from gateway.tools.runner import preview_of

logger = logging.getLogger(__name__)

LIMIT_S = 60.0
INPUT_CHARS = 2_000
# What a test gives each tool, and what it is called on pages; None: nothing.
INPUTS: dict[str, tuple[str, str, str]] = {
    "web_search": ("query", "Query", "weather in Amsterdam"),
    "web_fetch": ("url", "URL", "https://example.com/"),
    "pdf": ("url", "URL of a PDF", ""),
    "image": ("prompt", "Description", "A red bicycle"),
}
_threads = ThreadPoolExecutor(2, "tool-tests")


class ToolTest(NamedTuple):
    """What came of a test. message: the beginning of the result, or why there is none."""

    is_ok: bool
    message: str


def run_test(name: str, text: str, *, actor: str) -> ToolTest:
    """Run the tool of the installation once, as it is saved. Blocks for a minute at most; call it
    outside transactions.

    text: what it is given. Raises LookupError, ValidationError.
    """
    tool = get_tool(name)
    arguments = _arguments_of(tool, text.strip())
    record = record_of(tool, find_setting(name))
    if problem := find_problem(tool, record):
        test = ToolTest(False, problem)
    else:
        test = _run(tool, record, arguments)
    with transaction.atomic():
        outcome = "ok" if test.is_ok else "failed"
        record_audit(actor=actor, action="tool.test", target=name, details={"outcome": outcome})
    return test


def _arguments_of(tool: ServerTool, text: str) -> dict[str, object]:
    wanted = INPUTS.get(tool.name)
    if wanted is None:
        return {}
    if not text or len(text) > INPUT_CHARS:
        raise ValidationError({"text": f"Enter 1 to {INPUT_CHARS:,} characters."})
    return {wanted[0]: text}


def _run(tool: ServerTool, record: ToolRecord, arguments: dict[str, object]) -> ToolTest:
    parts = TrialParts(
        snapshot=compile_snapshot(),
        networks=tuple(read_networks(settings.FETCH_ALLOWED_NETWORKS)),
        open_client=partial(open_client, max_bytes=MAX_BACKEND_BYTES),
        open_token_client=open_proxied_client,
        connect_s=settings.STREAM_TIMEOUTS["connect_s"],
        takes_link_local=settings.LINK_LOCAL_PROVIDERS,
        limit_s=LIMIT_S,
    )
    try:
        # In a thread of its own: whoever asks may be in an event loop.
        result = _threads.submit(
            lambda: asyncio.run(run_once(tool, record, arguments, parts))
        ).result()
    except TimeoutError:
        return ToolTest(False, f"There was no result within {LIMIT_S:g} s.")
    except ToolFailed as error:
        return ToolTest(False, str(error))
    except GatewayError as error:
        return ToolTest(False, error.message)
    except Exception as error:
        logger.error("The test of %s failed: %s", tool.name, type(error).__name__)
        return ToolTest(False, "The tool failed.")
    return ToolTest(True, preview_of(result))
