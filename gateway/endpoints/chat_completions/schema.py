"""The request of POST /chat/completions, as types: what is here is validated, what is not
passes through untouched. Ranges and defaults: gateway contract, section 5.3.

null means absent throughout, so every optional member defaults to None.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from gateway.core.json_types import JsonObject, JsonValue
from gateway.core.parameters import MOST_STOP_SEQUENCES
from gateway.core.reasoning import AnyDetail
from gateway.endpoints.reading import END, USER_WORDS, PublicName, User

Penalty = Annotated[float, Meta(ge=-2, le=2)]
Positive = Annotated[int, Meta(ge=1, le=2**53)]
Name = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}" + END)]
Stop = Annotated[str, Meta(min_length=1, max_length=4096)]
TokenId = Annotated[str, Meta(pattern=r"^[0-9]{1,10}" + END)]
# What others named, in a history: no shape is asked of it, as models make names up.
ShortName = Annotated[str, Meta(max_length=256)]
# As OpenAI takes it.
Metadata = Annotated[
    dict[
        Annotated[str, Meta(min_length=1, max_length=64)],
        Annotated[str, Meta(max_length=512)],
    ],
    Meta(max_length=16),
]


class TextPart(Struct, tag_field="type", tag="text"):
    text: str


class PlainTextPart(Struct):
    """A text part where there is no other. It has no tag, which might be missing there."""

    type: Literal["text"]
    text: str


class RefusalPart(Struct, tag_field="type", tag="refusal"):
    refusal: str


class ImageUrl(Struct):
    url: str
    detail: Literal["auto", "low", "high", "original"] | None = None


class ImagePart(Struct, tag_field="type", tag="image_url"):
    image_url: ImageUrl | str


class InputAudio(Struct):
    data: str
    format: Literal["wav", "mp3", "pcm16", "webm"]


class AudioPart(Struct, tag_field="type", tag="input_audio"):
    input_audio: InputAudio


class FileSource(Struct, kw_only=True):
    filename: str | None = None
    file_data: str | None = None
    file_url: str | None = None
    file_id: str | None = None
    data: str | None = None
    mime_type: str | None = None
    detail: Literal["auto", "low", "high", "original"] | None = None


class FilePart(Struct, tag_field="type", tag="file", kw_only=True):
    """A file in any of its spellings: members nested under `file`, or beside `type`.

    Of several sources file_id comes first, then the bytes, then file_url, from where they are
    fetched: public addresses, five a request, 20 MB each. A PDF for a model that reads none is
    sent page by page, as text and, where the model sees, as a picture, for a fee.
    """

    file: FileSource | None = None
    filename: str | None = None
    file_id: str | None = None
    file_url: str | None = None
    data: str | None = None
    mime_type: str | None = None


Part = TextPart | ImagePart | AudioPart | FilePart
Text = str | Annotated[list[PlainTextPart], Meta(min_length=1)]


class SystemMessage(Struct, tag_field="role", tag="system"):
    content: Text
    name: ShortName | None = None


class DeveloperMessage(Struct, tag_field="role", tag="developer"):
    content: Text
    name: ShortName | None = None


class UserMessage(Struct, tag_field="role", tag="user"):
    content: str | Annotated[list[Part], Meta(min_length=1)]
    name: ShortName | None = None


class FunctionCall(Struct):
    name: ShortName
    arguments: str


class FunctionToolCall(Struct, tag_field="type", tag="function"):
    id: Annotated[str, Meta(min_length=1)]
    function: FunctionCall


class CustomCall(Struct):
    name: ShortName
    input: str


class CustomToolCall(Struct, tag_field="type", tag="custom"):
    id: Annotated[str, Meta(min_length=1)]
    custom: CustomCall


ToolCall = FunctionToolCall | CustomToolCall


class AssistantMessage(Struct, tag_field="role", tag="assistant", kw_only=True):
    # An empty list is no content: LangChain.js and Pydantic AI's model for Mistral send it beside
    # calls of tools.
    content: str | list[TextPart | RefusalPart] | None = None
    tool_calls: Annotated[list[ToolCall], Meta(max_length=1000)] | None = None
    function_call: FunctionCall | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    # As an answer had them.
    reasoning_details: Annotated[list[AnyDetail], Meta(max_length=10_000)] | None = None
    refusal: str | None = None
    audio: JsonObject | None = None
    annotations: JsonValue = None
    images: JsonValue = None
    name: ShortName | None = None


class ToolMessage(Struct, tag_field="role", tag="tool"):
    """The result of a tool. Files in it are sent as the user's, after all results of the turn."""

    content: str | Annotated[list[Part], Meta(min_length=1)]
    tool_call_id: Annotated[str, Meta(min_length=1)]


class FunctionMessage(Struct, tag_field="role", tag="function"):
    name: ShortName
    content: str | None = None


Message = (
    SystemMessage
    | DeveloperMessage
    | UserMessage
    | AssistantMessage
    | ToolMessage
    | FunctionMessage
)


class StreamOptions(Struct):
    include_usage: bool | None = None


class ResponseText(Struct, tag_field="type", tag="text"):
    pass


class ResponseJsonObject(Struct, tag_field="type", tag="json_object"):
    pass


class JsonSchema(Struct):
    """name and schema are required, unless this is a schema itself (answer_format)."""

    name: Name | None = None
    schema: JsonObject | None = None
    strict: bool | None = None
    description: str | None = None


class ResponseJsonSchema(Struct, tag_field="type", tag="json_schema"):
    json_schema: JsonSchema


class FunctionSpec(Struct):
    name: Name
    description: str | None = None
    parameters: JsonObject | None = None
    strict: bool | None = None


class FunctionTool(Struct, tag_field="type", tag="function"):
    function: FunctionSpec


class CustomSpec(Struct):
    name: Name
    description: str | None = None
    format: JsonObject | None = None


class CustomTool(Struct, tag_field="type", tag="custom"):
    custom: CustomSpec


Tool = FunctionTool | CustomTool


class Named(Struct):
    name: ShortName


class NamedTool(Struct, tag_field="type", tag="function"):
    function: Named


class NamedCustomTool(Struct, tag_field="type", tag="custom"):
    custom: Named


class AllowedTools(Struct):
    mode: Literal["auto", "required"]
    tools: list[JsonObject]


class ToolsAllowed(Struct, tag_field="type", tag="allowed_tools"):
    allowed_tools: AllowedTools


# "any" is what others call "required".
ToolChoice = Literal["none", "auto", "required", "any"] | NamedTool | NamedCustomTool | ToolsAllowed


class ChatCompletionRequest(Struct, kw_only=True):
    """POST /chat/completions."""

    model: PublicName
    messages: Annotated[list[Message], Meta(min_length=1, max_length=100_000)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    top_k: Annotated[int, Meta(ge=0)] | None = None
    max_tokens: Positive | None = None
    max_completion_tokens: Positive | None = None
    stop: Stop | Annotated[list[Stop], Meta(max_length=MOST_STOP_SEQUENCES)] | None = None
    frequency_penalty: Penalty | None = None
    presence_penalty: Penalty | None = None
    seed: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | None = None
    n: Annotated[int, Meta(ge=1, le=128)] | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    logit_bias: (
        Annotated[dict[TokenId, Annotated[float, Meta(ge=-100, le=100)]], Meta(max_length=1024)]
        | None
    ) = None
    response_format: ResponseText | ResponseJsonObject | ResponseJsonSchema | None = None
    tools: Annotated[list[Tool], Meta(max_length=512)] | None = None
    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = (
        None
    )
    repetition_penalty: float | None = None
    min_p: float | None = None
    ignore_eos: bool | None = None
    user: User | None = None
    metadata: Metadata | None = None
    # Looked into by gateway.endpoints.chat_completions.processor_options.
    inferada: JsonObject | None = None
    plugins: list[JsonObject] | None = None
    hi_tool_events: bool | None = None
    models: Annotated[list[PublicName], Meta(max_length=5)] | None = None
    episode_id: str | None = msgspec.field(name="tensorzero::episode_id", default=None)
    deny_unknown_fields: bool | None = msgspec.field(
        name="tensorzero::deny_unknown_fields", default=None
    )


# OpenAI's members that are not looked into: they pass through as they are.
NOT_LOOKED_INTO = frozenset(
    {
        "audio",
        "function_call",
        "functions",
        "modalities",
        "prediction",
        "prompt_cache_key",
        "prompt_cache_retention",
        "safety_identifier",
        "service_tier",
        "store",
        "verbosity",
        "web_search_options",
    }
)
# vLLM's own, looked into by gateway.endpoints.chat_completions.guided_decoding.
VLLM = frozenset(
    {
        "chat_template",
        "chat_template_kwargs",
        "guided_choice",
        "guided_decoding_backend",
        "guided_grammar",
        "guided_json",
        "guided_regex",
        "guided_whitespace_pattern",
        "mm_processor_kwargs",
        "structural_tag",
        "structured_outputs",
    }
)
KNOWN = NOT_LOOKED_INTO | VLLM | frozenset(ChatCompletionRequest.__struct_encode_fields__)
# What these may be is said by their types alone: no other member, header or message matters.
SELF_EXPLANATORY = frozenset(
    {
        "frequency_penalty",
        "max_completion_tokens",
        "max_tokens",
        "messages",
        "model",
        "n",
        "parallel_tool_calls",
        "presence_penalty",
        "reasoning_effort",
        "seed",
        "stop",
        "stream",
        "stream_options",
        "temperature",
        "top_p",
        "user",
    }
)


def words_for(param: str) -> str:
    """Return what the pattern of a string asks for, in words."""
    if param == "user":
        return USER_WORDS
    if param == "logit_bias":
        return "an object whose keys are token IDs of 1 to 10 digits"
    return "1 to 64 letters, digits, underscores or hyphens"


decoder = msgspec.json.Decoder(ChatCompletionRequest)
