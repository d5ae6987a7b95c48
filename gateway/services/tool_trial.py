"""Runs a server tool once as calls do, outside the process that serves them, for its test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gateway.call_steps.prepare import Preparation
from gateway.call_steps.tool_images import ImageMaker
from gateway.core.egress import Requester
from gateway.core.grant import Grant
from gateway.core.server_tools import ToolResult
from gateway.egress.egress import Egress
from gateway.files.pdf import PdfReader
from gateway.outbound.permitted_addresses import Network
from gateway.processors.engine_pool import EnginePool
from gateway.providers.credentials.making import TokenMaker
from gateway.providers.credentials.pools import CredentialPools
from gateway.providers.credentials.token import OpenClient
from gateway.providers.transports.lookup import open_transports
from gateway.snapshot.holder import SnapshotHolder
from gateway.snapshot.tools import ToolRecord, WorkspaceTools
from gateway.snapshot.types import Snapshot
from gateway.tools.base import HttpClient, ServerTool, ToolContext, ToolServices

OWNER = "test"


class Unlimited:
    """The fetches of a test are not counted."""

    async def take(self, now_ns: int) -> int:
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialParts:
    """What a trial works with: the catalogue, and ways out as calls have them."""

    snapshot: Snapshot
    networks: tuple[Network, ...]
    open_client: Callable[[str], HttpClient]
    open_token_client: OpenClient
    connect_s: float
    takes_link_local: bool
    limit_s: float


async def run_once(
    tool: ServerTool, record: ToolRecord, arguments: Mapping[str, object], parts: TrialParts
) -> ToolResult:
    """Return what came of it. Raises ToolFailed, GatewayError, TimeoutError."""
    egress = Egress(parts.networks, lambda key, workspace: Unlimited())
    engines = EnginePool()
    pdf_reader = PdfReader()
    transports = open_transports(
        connect_s=parts.connect_s, takes_link_local=parts.takes_link_local, retries=0
    )
    snapshot = SnapshotHolder()
    snapshot.replace(parts.snapshot)
    credentials = CredentialPools(
        TokenMaker(parts.open_token_client, _note_nothing).make, _note_nothing
    )
    credentials.keep(parts.snapshot.credentials())
    transports.httpx.keep(parts.snapshot.connections())
    preparation = Preparation(transports, credentials, _grow_nothing, tool_s=parts.limit_s)
    context = ToolContext(
        requester=Requester(OWNER, OWNER),
        call_id="",
        options=tool.options(),
        record=record,
        workspace=WorkspaceTools(),
        services=ToolServices(
            egress=egress,
            run_engine=engines.run,
            read_pdf=pdf_reader.read,
            make_images=ImageMaker(snapshot, preparation.ask).make,
            open_client=parts.open_client,
        ),
    )
    try:
        async with asyncio.timeout(parts.limit_s):
            return await tool.run(arguments, context)
    finally:
        credentials.close()
        await pdf_reader.aclose()
        await engines.aclose()
        await egress.aclose()
        await transports.aclose()


def _note_nothing(credential_id: str, rest_s: float, code: str, message: str) -> None:
    """States of credentials are those that calls find."""


async def _grow_nothing(
    grant: Grant, *, want_nusd: int, least_nusd: int, tokens: tuple[int, int]
) -> int | None:
    return None
