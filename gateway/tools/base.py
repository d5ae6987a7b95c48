"""The contract every server tool keeps.

A server tool is called by the model and run by the gateway, between two rounds of a call. It is a
file here and a row in gateway.tools.registry. Tools that there are for some workspaces only come
from a family: it is a row, too, and finds them when a call names them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from msgspec import Struct
from yarl import URL

from gateway.core.egress import NotFetched, Requester
from gateway.core.server_tools import ToolResult
from gateway.snapshot.tools import ToolRecord, WorkspaceTools

MAX_USES = 20


class NoOptions(Struct, forbid_unknown_fields=True):
    """Of a tool without options."""


class ToolFailed(Exception):
    """The tool has no result. The text is for the model: it says why, and nothing of secrets."""


class Reply(Protocol):
    """An answer over HTTP (gateway.outbound.client)."""

    @property
    def status(self) -> int: ...

    @property
    def content(self) -> bytes: ...


class HttpClient(Protocol):
    """For an address that an operator has entered."""

    async def send(
        self, url: URL, *, method: str, headers: Mapping[str, str], content: bytes = b""
    ) -> Reply: ...

    async def aclose(self) -> None: ...


class Page(Protocol):
    """A page of a PDF (gateway.core.files)."""

    @property
    def text(self) -> str: ...


class Fetched(Protocol):
    """What was fetched (gateway.egress.orders)."""

    @property
    def content(self) -> bytes: ...

    @property
    def status(self) -> int: ...

    # Where the last redirect led.
    @property
    def url(self) -> str: ...


class McpReply(Protocol):
    """What a tool of an MCP server returned (gateway.egress.orders)."""

    @property
    def text(self) -> str: ...

    # It says that it failed.
    @property
    def is_error(self) -> bool: ...


class GuardedEgress(Protocol):
    """The way out (gateway.egress.egress): for addresses of callers, models and workspaces."""

    async def fetch(self, url: str, requester: Requester) -> Fetched: ...

    async def send(
        self,
        url: str,
        requester: Requester,
        *,
        method: str,
        headers: Mapping[str, str],
        content: bytes = b"",
        max_bytes: int,
    ) -> Fetched: ...

    async def ask_mcp(
        self,
        url: str,
        requester: Requester,
        *,
        headers: Mapping[str, str],
        tool: str,
        arguments: Mapping[str, object],
        limit_s: float,
        max_bytes: int,
    ) -> McpReply: ...


class RunEngine(Protocol):
    """Computes in a process of its own (gateway.processors.engine_pool)."""

    async def __call__(
        self, engine: str, request: Mapping[str, object], *, owner: str = ""
    ) -> dict[str, object]: ...


class ReadPdf(Protocol):
    """Turns a PDF into pages (gateway.files.pdf)."""

    async def __call__(
        self, content: bytes, *, with_pictures: bool, owner: str, param: str
    ) -> Sequence[Page]: ...


class MakeImages(Protocol):
    """Asks an image model of the installation (gateway.call_steps.tool_images)."""

    async def __call__(self, model: str, prompt: str, size: str) -> Sequence[str]:
        """Return the addresses or data URLs of the images. Raises GatewayError."""


class StoredContent(Protocol):
    """A stored file (gateway.core.files)."""

    @property
    def content(self) -> bytes: ...


class StoresFiles(Protocol):
    """Who has stored files (gateway.runtime.stored_files)."""

    async def read(
        self, file_id: str, *, owner: str, param: str, most_bytes: int
    ) -> StoredContent: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolServices:
    """What tools work with. For all calls of a process."""

    egress: GuardedEgress
    run_engine: RunEngine
    read_pdf: ReadPdf
    make_images: MakeImages
    open_client: Callable[[str], HttpClient]
    # None: there are no files.
    stored_files: StoresFiles | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """What a run of a tool may know of its call."""

    requester: Requester
    call_id: str
    # Of the type that the tool has for them.
    options: Any
    # What is set for the tool; what is set for all tools of the workspace.
    record: ToolRecord
    workspace: WorkspaceTools
    services: ToolServices

    @property
    def workspace_id(self) -> str:
        return self.requester.workspace_id

    async def fetch(self, address: str) -> Fetched:
        """Return what is at an address that the model or the caller has named: through the guard,
        in a process of its own. Raises ToolFailed, RateLimited."""
        try:
            return await self.services.egress.fetch(address, self.requester)
        except NotFetched as error:
            raise ToolFailed(error.message) from None

    async def send(
        self,
        address: str,
        *,
        method: str,
        headers: Mapping[str, str],
        content: bytes = b"",
        max_bytes: int,
    ) -> Fetched:
        """Return what answers at an address of the workspace's settings, in the same way. Raises
        ToolFailed, RateLimited."""
        try:
            return await self.services.egress.send(
                address,
                self.requester,
                method=method,
                headers=headers,
                content=content,
                max_bytes=max_bytes,
            )
        except NotFetched as error:
            raise ToolFailed(error.message) from None


class ServerTool(Protocol):
    """Stateless; one instance serves every call in the process. Derive from it for the defaults."""

    # As callers name it in `plugins`. The model knows it as hi_<name>, so it has letters, digits,
    # _ and - alone.
    name: str
    # For the model.
    description: str
    # What one of its units is, for pages.
    unit: ClassVar[str] = "use"
    # What a unit costs where nothing is set, in nano-USD.
    nusd_each: ClassVar[int] = 0
    # The units that one run has at most, and how often it may run in a call: the hold has both.
    max_units: ClassVar[int] = 1
    max_runs: ClassVar[int] = MAX_USES
    # The options that a request may give it; unknown ones are refused (forbid_unknown_fields).
    options: ClassVar[type[Struct]] = NoOptions
    # The names of what can answer it (gateway.tools.backends). Empty: it needs nothing.
    backends: ClassVar[tuple[str, ...]] = ()
    # It is answered by an image model of the installation.
    needs_model: ClassVar[bool] = False
    # With it a model gets the text of attached PDFs, whatever it reads.
    turns_pdfs_to_text: ClassVar[bool] = False

    @property
    def parameters(self) -> Mapping[str, object]:
        """The JSON Schema of its arguments."""

    async def run(self, arguments: Mapping[str, object], context: ToolContext) -> ToolResult:
        """Return what came of it. Raises ToolFailed, GatewayError; whatever it raises is told to
        the model as a failure of the tool, other errors without their text."""

    def without_tools(self) -> str:
        """Return what a model that takes no tools is told instead, in a system message; empty where
        nothing replaces the tool."""
        return ""


class ToolFamily(Protocol):
    """Finds the tools of a workspace: plugins named <family>:<name>."""

    name: str
    options: ClassVar[type[Struct]] = NoOptions

    async def find(self, name: str, context: ToolContext) -> Sequence[ServerTool]:
        """Return the tools that the name stands for. context: without a record of a tool.

        Raises PluginUnavailable where the workspace has nothing of that name, GatewayError.
        """

    def defaults(self, workspace: WorkspaceTools) -> Sequence[str]:
        """Return the names of those that calls have without naming them, as far as they can be
        used."""
        return ()
