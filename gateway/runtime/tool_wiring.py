"""What server tools work with, made for one server process (gateway.wiring)."""

from __future__ import annotations

from functools import partial

from gateway.call_steps.prepare import Preparation
from gateway.call_steps.prompt_prep import PromptPrep
from gateway.call_steps.tool_images import ImageMaker
from gateway.call_steps.tool_prep import ToolPrep
from gateway.services.outbound_clients import open_client
from gateway.services.snapshot_tools import load_workspace_tools
from gateway.snapshot.holder import SnapshotHolder
from gateway.snapshot.tools import WorkspaceTools
from gateway.stores.queries import Batches, QueryThreads
from gateway.tools.backends import MAX_BACKEND_BYTES
from gateway.tools.base import ToolServices
from gateway.tools.choose import ToolChooser
from gateway.tools.workspace_tools import WorkspaceToolsCache


def make_workspace_tools() -> WorkspaceToolsCache:
    """Return what is set of tools for workspaces, as far as calls have asked."""
    tools: Batches[str, WorkspaceTools]
    tools = Batches(QueryThreads("tool-queries", 1).run, load_workspace_tools)
    return WorkspaceToolsCache(tools.ask)


def make_tool_prep(
    settings: WorkspaceToolsCache,
    prep: PromptPrep,
    preparation: Preparation,
    snapshot: SnapshotHolder,
) -> ToolPrep:
    services = ToolServices(
        egress=prep.egress,
        run_engine=prep.engines.run,
        read_pdf=prep.pdf_reader.read,
        make_images=ImageMaker(snapshot, preparation.ask).make,
        open_client=partial(open_client, max_bytes=MAX_BACKEND_BYTES),
        stored_files=prep.stored_files,
    )
    return ToolPrep(ToolChooser(services, settings.find))
