"""The request of POST /messages, as types: what is here is validated, what is not passes through
to providers of the same dialect and is left out for others.

Reference: https://platform.claude.com/docs/en/api/messages
null means absent throughout, so every optional member defaults to None.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from gateway.core.json_types import JsonObject, JsonValue
from gateway.core.parameters import MOST_STOP_SEQUENCES
from gateway.endpoints.chat_completions import guided_decoding
from gateway.endpoints.reading import END, PublicName

CacheControl = JsonObject | None
ToolName = Annotated[str, Meta(pattern=r"^[a-zA-Z0-9_-]{1,128}" + END)]
# In a history models may have made them up.
AnyName = Annotated[str, Meta(min_length=1, max_length=256)]
CallId = Annotated[str, Meta(min_length=1, max_length=256)]
Address = Annotated[str, Meta(min_length=1)]
UserId = Annotated[str, Meta(max_length=512, pattern=r"^[^\x00-\x1f\x7f]*" + END)]
Positive = Annotated[int, Meta(ge=1, le=2**53)]


class Block(Struct, kw_only=True):
    """What every block can have."""

    cache_control: CacheControl = None


class TextBlock(Block, tag_field="type", tag="text", kw_only=True):
    text: str
    # Of an earlier answer.
    citations: JsonValue = None


class PlainText(Block, kw_only=True):
    """A text block where there is no other. It has no tag, which might be missing there."""

    type: Literal["text"]
    text: str


class Base64Source(Struct, tag_field="type", tag="base64", kw_only=True):
    media_type: str
    data: str


class UrlSource(Struct, tag_field="type", tag="url"):
    url: Address


class TextSource(Struct, tag_field="type", tag="text", kw_only=True):
    data: str
    media_type: Literal["text/plain"] = "text/plain"


class ProviderFile(Struct, tag_field="type", tag="file"):
    """A file of POST /files. A provider's own files are not the caller's."""

    file_id: str


class ImageBlock(Block, tag_field="type", tag="image", kw_only=True):
    source: Base64Source | UrlSource | ProviderFile


class ContentSource(Struct, tag_field="type", tag="content"):
    content: str | list[TextBlock | ImageBlock]


class Citations(Struct):
    enabled: bool | None = None


class DocumentBlock(Block, tag_field="type", tag="document", kw_only=True):
    """A PDF, or a text."""

    source: Base64Source | UrlSource | TextSource | ContentSource | ProviderFile
    title: str | None = None
    context: str | None = None
    citations: Citations | None = None


class SearchResultBlock(Block, tag_field="type", tag="search_result", kw_only=True):
    source: str
    title: str
    content: list[PlainText]
    citations: Citations | None = None


class ToolUseBlock(Block, tag_field="type", tag="tool_use", kw_only=True):
    id: CallId
    name: AnyName
    input: JsonObject


class ToolReferenceBlock(Block, tag_field="type", tag="tool_reference", kw_only=True):
    """A tool that a search for tools, made by the caller's own tool, has found."""

    tool_name: AnyName


ResultContent = (
    str | list[TextBlock | ImageBlock | DocumentBlock | SearchResultBlock | ToolReferenceBlock]
)


class ToolResultBlock(Block, tag_field="type", tag="tool_result", kw_only=True):
    tool_use_id: CallId
    content: ResultContent | None = None
    is_error: bool | None = None


class ThinkingBlock(Struct, tag_field="type", tag="thinking", kw_only=True):
    thinking: str
    signature: str = ""


class RedactedThinkingBlock(Struct, tag_field="type", tag="redacted_thinking"):
    data: str


class ServerCall(Block, tag_field="type", tag="server_tool_use", kw_only=True):
    """A call of a tool that Anthropic has run, or a server that it has asked."""

    id: CallId
    name: AnyName
    input: JsonObject


class McpCall(ServerCall, tag_field="type", tag="mcp_tool_use", kw_only=True):
    server_name: str


class ServerResult(Block, kw_only=True):
    """What such a tool returned."""

    tool_use_id: CallId
    content: JsonValue = None


class WebSearchResult(ServerResult, tag_field="type", tag="web_search_tool_result", kw_only=True):
    pass


class WebFetchResult(ServerResult, tag_field="type", tag="web_fetch_tool_result", kw_only=True):
    pass


class CodeResult(ServerResult, tag_field="type", tag="code_execution_tool_result", kw_only=True):
    pass


class BashResult(
    ServerResult, tag_field="type", tag="bash_code_execution_tool_result", kw_only=True
):
    pass


class EditorResult(
    ServerResult, tag_field="type", tag="text_editor_code_execution_tool_result", kw_only=True
):
    pass


class ToolSearchResult(ServerResult, tag_field="type", tag="tool_search_tool_result", kw_only=True):
    pass


class AdvisorResult(ServerResult, tag_field="type", tag="advisor_tool_result", kw_only=True):
    pass


class McpResult(ServerResult, tag_field="type", tag="mcp_tool_result", kw_only=True):
    is_error: bool | None = None


ServerCalls = ServerCall | McpCall
ServerResults = (
    WebSearchResult
    | WebFetchResult
    | CodeResult
    | BashResult
    | EditorResult
    | ToolSearchResult
    | AdvisorResult
    | McpResult
)
UserBlock = TextBlock | ImageBlock | DocumentBlock | SearchResultBlock | ToolResultBlock
AssistantBlock = (
    TextBlock | ThinkingBlock | RedactedThinkingBlock | ToolUseBlock | ServerCalls | ServerResults
)


class UserTurn(Struct, tag_field="role", tag="user"):
    content: str | Annotated[list[UserBlock], Meta(min_length=1)]


class AssistantTurn(Struct, tag_field="role", tag="assistant"):
    content: str | list[AssistantBlock]


class SystemTurn(Struct, tag_field="role", tag="system"):
    """Instructions that come later than the first turn."""

    content: str | Annotated[list[PlainText], Meta(min_length=1)]


Turn = UserTurn | AssistantTurn | SystemTurn


class ToolDefinition(Struct, kw_only=True):
    """A tool: one of the caller's own where there is no type, or one that Anthropic defines and
    the caller runs."""

    name: ToolName | None = None
    type: str | None = None
    description: str | None = None
    input_schema: JsonObject | None = None
    strict: bool | None = None
    cache_control: CacheControl = None


class ChooseAuto(Struct, tag_field="type", tag="auto"):
    disable_parallel_tool_use: bool | None = None


class ChooseAny(Struct, tag_field="type", tag="any"):
    disable_parallel_tool_use: bool | None = None


class ChooseTool(Struct, tag_field="type", tag="tool", kw_only=True):
    name: AnyName
    disable_parallel_tool_use: bool | None = None


class ChooseNone(Struct, tag_field="type", tag="none"):
    pass


class ThinkEnabled(Struct, tag_field="type", tag="enabled"):
    budget_tokens: Annotated[int, Meta(ge=1024, le=2**53, description="Less than max_tokens.")]


class ThinkAdaptive(Struct, tag_field="type", tag="adaptive"):
    pass


class ThinkBetweenTools(Struct, tag_field="type", tag="between_tools"):
    pass


class ThinkDisabled(Struct, tag_field="type", tag="disabled"):
    pass


class JsonFormat(Struct, kw_only=True):
    # No tag: of a type that is alone the tag may be missing.
    type: Literal["json_schema"]
    schema: JsonObject


class OutputConfig(Struct, kw_only=True):
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: JsonFormat | None = None


class MessagesMetadata(Struct):
    user_id: UserId | None = None


class MessagesRequest(Struct, kw_only=True):
    """POST /messages."""

    model: PublicName
    messages: Annotated[list[Turn], Meta(min_length=1, max_length=100_000)]
    max_tokens: Positive
    system: str | list[PlainText] | None = None
    stream: bool | None = None
    temperature: Annotated[float, Meta(ge=0, le=1)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    top_k: Annotated[int, Meta(ge=0)] | None = None
    stop_sequences: (
        Annotated[
            list[Annotated[str, Meta(min_length=1, max_length=4096)]],
            Meta(max_length=MOST_STOP_SEQUENCES),
        ]
        | None
    ) = None
    metadata: MessagesMetadata | None = None
    tools: Annotated[list[ToolDefinition], Meta(max_length=512)] | None = None
    tool_choice: ChooseAuto | ChooseAny | ChooseTool | ChooseNone | None = None
    thinking: ThinkEnabled | ThinkAdaptive | ThinkBetweenTools | ThinkDisabled | None = None
    output_config: OutputConfig | None = None
    output_format: JsonFormat | None = None
    service_tier: Literal["auto", "standard_only"] | None = None
    cache_control: CacheControl = None
    models: Annotated[list[PublicName], Meta(max_length=5)] | None = None
    inferada: JsonObject | None = None
    plugins: list[JsonObject] | None = None
    hi_tool_events: bool | None = None
    episode_id: str | None = msgspec.field(name="tensorzero::episode_id", default=None)
    deny_unknown_fields: bool | None = msgspec.field(
        name="tensorzero::deny_unknown_fields", default=None
    )


# Members of Anthropic's own that change nothing which others could be told.
FOR_ANTHROPIC = frozenset({"cache_control", "context_management", "diagnostics", "thinking"})
# They change what a call costs by rates that no price here has, or bring blocks that nothing here
# reads: no provider gets them.
LEFT_OUT = frozenset({"compaction", "inference_geo", "speed"})
MCP_SERVERS = "mcp_servers"
# What they name belongs to whoever has the provider's account, or runs there at its expense.
REFUSED = frozenset(
    {
        "container",
        "fallback_credit_token",
        "fallbacks",
        MCP_SERVERS,
        "thread",
        "user_profile_id",
        "workspace_id",
    }
)
# What a refusal says besides. A program that is told this of a thread, as the provider tells it,
# sends the whole conversation again: platform.claude.com docs/en/build-with-claude/message-threads
DETAILS_OF_REFUSAL = {"thread": {"error_code": "thread_unsupported_request"}}
# Members of tools that make no difference to whoever is not Anthropic, or too little.
OF_TOOLS = frozenset(
    {"allowed_callers", "defer_loading", "eager_input_streaming", "input_examples"}
)
READ = frozenset(MessagesRequest.__struct_encode_fields__)
# vLLM's constraints on the answer.
GUIDED = guided_decoding.NAMES
KNOWN = READ | FOR_ANTHROPIC | LEFT_OUT | REFUSED | GUIDED


class CountTokensRequest(Struct, kw_only=True):
    """POST /messages/count_tokens. What else a message request can have may be there, too."""

    model: PublicName
    messages: Annotated[list[Turn], Meta(min_length=1, max_length=100_000)]
    system: str | list[PlainText] | None = None
    tools: Annotated[list[ToolDefinition], Meta(max_length=512)] | None = None
    tool_choice: ChooseAuto | ChooseAny | ChooseTool | ChooseNone | None = None
    thinking: ThinkEnabled | ThinkAdaptive | ThinkBetweenTools | ThinkDisabled | None = None
    output_config: OutputConfig | None = None
    output_format: JsonFormat | None = None
    inferada: JsonObject | None = None


def words_for(param: str) -> str:
    """Return what the pattern of a string asks for, in words."""
    if param.endswith("user_id"):
        return "text without control characters"
    return "1 to 128 letters, digits, underscores or hyphens"


decoder = msgspec.json.Decoder(MessagesRequest)
