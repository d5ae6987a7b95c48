"""The request of POST /responses, as types.

Reference: https://platform.openai.com/docs/api-reference/responses/create
null means absent throughout, so every optional member defaults to None. What a chat completion has
too is checked as there (gateway.endpoints.chat_completions.schema): this says where it stands.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from gateway.core.json_types import JsonObject
from gateway.endpoints.chat_completions.schema import (
    InputAudio,
    Metadata,
    Name,
    Positive,
    ShortName,
)
from gateway.endpoints.reading import USER_WORDS, PublicName, User

ItemId = Annotated[str, Meta(min_length=1, max_length=512)]
CallId = Annotated[str, Meta(min_length=1)]


class InputText(Struct, tag_field="type", tag="input_text"):
    text: str


class InputImage(Struct, tag_field="type", tag="input_image", kw_only=True):
    image_url: str | None = None
    file_id: str | None = None
    detail: Literal["auto", "low", "high", "original"] | None = None


class InputFile(Struct, tag_field="type", tag="input_file", kw_only=True):
    """A file: its bytes as base64 or a data URL, or a URL from which they are fetched."""

    filename: str | None = None
    file_data: str | None = None
    file_url: str | None = None
    file_id: str | None = None


class InputSound(Struct, tag_field="type", tag="input_audio"):
    input_audio: InputAudio


class OutputText(Struct, tag_field="type", tag="output_text"):
    text: str


class OutputRefusal(Struct, tag_field="type", tag="refusal"):
    refusal: str


InputPart = InputText | InputImage | InputFile | InputSound
OutputPart = OutputText | OutputRefusal
Instructions = str | Annotated[list[InputText], Meta(min_length=1)]


class InputUserMessage(Struct, tag_field="role", tag="user"):
    content: str | Annotated[list[InputPart], Meta(min_length=1)]


class InputSystemMessage(Struct, tag_field="role", tag="system"):
    content: Instructions


class InputDeveloperMessage(Struct, tag_field="role", tag="developer"):
    content: Instructions


class InputAssistantMessage(Struct, tag_field="role", tag="assistant"):
    content: str | list[OutputPart]


InputMessage = InputUserMessage | InputSystemMessage | InputDeveloperMessage | InputAssistantMessage


class FunctionCallItem(Struct, tag_field="type", tag="function_call", kw_only=True):
    call_id: CallId
    name: ShortName
    arguments: str
    namespace: ShortName | None = None


class CustomToolCallItem(Struct, tag_field="type", tag="custom_tool_call"):
    call_id: CallId
    name: ShortName
    input: str


ToolOutput = str | Annotated[list[InputText | InputImage | InputFile], Meta(min_length=1)]


class FunctionCallOutput(Struct, tag_field="type", tag="function_call_output"):
    call_id: CallId
    output: ToolOutput


class CustomToolCallOutput(Struct, tag_field="type", tag="custom_tool_call_output"):
    call_id: CallId
    output: ToolOutput


class SummaryText(Struct, tag_field="type", tag="summary_text"):
    text: str


class ReasoningTextPart(Struct, tag_field="type", tag="reasoning_text"):
    text: str


class ReasoningItem(Struct, tag_field="type", tag="reasoning", kw_only=True):
    """What a model thought before. encrypted_content: as it came in an earlier response."""

    id: ItemId | None = None
    summary: list[SummaryText] | None = None
    content: list[ReasoningTextPart] | None = None
    encrypted_content: str | None = None


class ImageCallItem(Struct, tag_field="type", tag="image_generation_call", kw_only=True):
    """A picture of an earlier response. Models do not get it."""

    id: ItemId | None = None


class WebSearchCallItem(Struct, tag_field="type", tag="web_search_call", kw_only=True):
    """This one and the next four: what a tool of OpenAI's did in an earlier response."""

    action: JsonObject | None = None


class FileSearchCallItem(Struct, tag_field="type", tag="file_search_call", kw_only=True):
    queries: list[str] | None = None
    results: list[JsonObject] | None = None


class CodeCallItem(Struct, tag_field="type", tag="code_interpreter_call", kw_only=True):
    code: str | None = None
    outputs: list[JsonObject] | None = None


class McpCallItem(Struct, tag_field="type", tag="mcp_call", kw_only=True):
    name: str
    arguments: str = ""
    output: str | None = None


class McpListToolsItem(Struct, tag_field="type", tag="mcp_list_tools", kw_only=True):
    server_label: str | None = None


HostedItem = WebSearchCallItem | FileSearchCallItem | CodeCallItem | McpCallItem | McpListToolsItem


class ItemReference(Struct, tag_field="type", tag="item_reference"):
    """An item of a stored response."""

    id: ItemId


TypedItem = (
    FunctionCallItem
    | CustomToolCallItem
    | FunctionCallOutput
    | CustomToolCallOutput
    | ReasoningItem
    | ImageCallItem
    | HostedItem
    | ItemReference
)
ITEM_TYPES = frozenset(
    {
        "code_interpreter_call",
        "custom_tool_call",
        "custom_tool_call_output",
        "file_search_call",
        "function_call",
        "function_call_output",
        "image_generation_call",
        "item_reference",
        "mcp_call",
        "mcp_list_tools",
        "reasoning",
        "web_search_call",
    }
)


class FunctionToolSpec(Struct, tag_field="type", tag="function", kw_only=True):
    name: Name
    description: str | None = None
    parameters: JsonObject | None = None
    strict: bool | None = None


class CustomToolFormat(Struct, kw_only=True):
    type: Literal["text", "grammar"]
    syntax: Literal["lark", "regex"] | None = None
    definition: str | None = None


class CustomToolSpec(Struct, tag_field="type", tag="custom", kw_only=True):
    name: Name
    description: str | None = None
    format: CustomToolFormat | None = None


class FunctionChoice(Struct, tag_field="type", tag="function"):
    name: ShortName


class CustomChoice(Struct, tag_field="type", tag="custom"):
    name: ShortName


class AllowedTool(Struct):
    """One of `tools`, named again."""

    type: str
    # Tools that the gateway runs have none.
    name: ShortName | None = None


class ServerToolChoice(Struct):
    """A tool that the gateway runs."""

    type: str


class AllowedToolsChoice(Struct, tag_field="type", tag="allowed_tools"):
    mode: Literal["auto", "required"]
    tools: Annotated[list[AllowedTool], Meta(min_length=1)]


ToolSpec = FunctionToolSpec | CustomToolSpec
ResponsesToolChoice = (
    Literal["none", "auto", "required"] | FunctionChoice | CustomChoice | AllowedToolsChoice
)


class TextFormat(Struct, tag_field="type", tag="text"):
    pass


class JsonObjectFormat(Struct, tag_field="type", tag="json_object"):
    pass


class JsonSchemaFormat(Struct, tag_field="type", tag="json_schema", kw_only=True):
    name: Name
    schema: JsonObject
    strict: bool | None = None
    description: str | None = None


class TextOptions(Struct, kw_only=True):
    format: TextFormat | JsonObjectFormat | JsonSchemaFormat | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class ReasoningOptions(Struct, kw_only=True):
    effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    summary: Literal["auto", "concise", "detailed"] | None = None


# As OpenAI's reference lists them.
Includable = Literal[
    "code_interpreter_call.outputs",
    "computer_call_output.output.image_url",
    "file_search_call.results",
    "message.input_image.image_url",
    "message.output_text.logprobs",
    "reasoning.encrypted_content",
    "web_search_call.action.sources",
    "web_search_call.results",
]


class ResponsesStreamOptions(Struct):
    include_obfuscation: bool | None = None


class ResponsesRequest(Struct, kw_only=True):
    """POST /responses."""

    model: PublicName
    # Each item by its own type, in gateway.endpoints.responses.items.
    input: str | Annotated[list[JsonObject], Meta(max_length=100_000)] | None = None
    instructions: str | None = None
    stream: bool | None = None
    stream_options: ResponsesStreamOptions | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    max_output_tokens: Positive | None = None
    tools: Annotated[list[JsonObject], Meta(max_length=512)] | None = None
    tool_choice: JsonObject | Literal["none", "auto", "required"] | None = None
    parallel_tool_calls: bool | None = None
    max_tool_calls: Positive | None = None
    text: TextOptions | None = None
    reasoning: ReasoningOptions | None = None
    include: list[Includable] | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    truncation: Literal["auto", "disabled"] | None = None
    metadata: Metadata | None = None
    user: User | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    service_tier: str | None = None
    store: bool | None = None
    previous_response_id: Annotated[str, Meta(min_length=1, max_length=512)] | None = None
    background: bool | None = None
    conversation: str | JsonObject | None = None
    prompt: JsonObject | None = None
    context_management: list[JsonObject] | None = None
    moderation: JsonObject | None = None
    # Codex sends it. It stays here, unless the provider is OpenAI.
    client_metadata: JsonObject | None = None
    inferada: JsonObject | None = None
    plugins: list[JsonObject] | None = None
    hi_tool_events: bool | None = None
    models: Annotated[list[PublicName], Meta(max_length=5)] | None = None
    episode_id: str | None = msgspec.field(name="tensorzero::episode_id", default=None)
    deny_unknown_fields: bool | None = msgspec.field(
        name="tensorzero::deny_unknown_fields", default=None
    )


KNOWN = frozenset({*ResponsesRequest.__struct_encode_fields__, "prompt_cache_retention"})
# Parameters of chat completions that stand elsewhere here.
ELSEWHERE = {
    "messages": "input",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "response_format": "text.format",
    "verbosity": "text.verbosity",
    "reasoning_effort": "reasoning.effort",
    "functions": "tools",
    "function_call": "tool_choice",
    "logprobs": 'include: ["message.output_text.logprobs"]',
}
# A chat completion has several answers with it, all of which are charged. A response has one.
ANSWERS = "n"


def words_for(param: str) -> str:
    """Return what the pattern of a string asks for, in words."""
    return USER_WORDS if param == "user" else "1 to 64 letters, digits, underscores or hyphens"
