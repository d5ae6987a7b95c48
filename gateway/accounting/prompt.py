"""Our own count of a prompt, for calls whose provider did not say. Never on the way of a call.

Messages and tools cost what OpenAI documents for its models, others differ by a few tokens a call;
pictures, pages and sounds what gateway.core.attachment_tokens says.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from gateway.accounting.tokenizer import count_tokens
from gateway.core.attachment_tokens import Rules
from gateway.core.files import ReadyFile
from gateway.core.prompt_parts import PromptParts

TOKENS_PER_MESSAGE = 4  # the role, and what parts it from others
TOKENS_PER_ANSWER = 3  # every answer is primed with its role
# A function, the list of its parameters, one of them, one of its values, and all functions.
FUNCTION, PARAMETERS, PARAMETER, VALUE, FUNCTIONS = 7, 3, 3, 3, 12
MAX_DEPTH = 20
MP3_BYTES_PER_S = 16_000
PCM16_BYTES_PER_S = 48_000
# Pages of a PDF whose index is compressed cannot be counted so; most pages are about as large.
PDF_PAGE_BYTES = 50_000
_PDF_PAGE = re.compile(rb"/Type\s*/Page(?![s\w])")


def count_prompt(parts: PromptParts, rules: Rules) -> int:
    """Return the tokens of a prompt for a model with these rules."""
    tokens = parts.tokens
    if parts.messages:
        tokens += TOKENS_PER_ANSWER + TOKENS_PER_MESSAGE * parts.messages
    tokens += sum(map(count_tokens, parts.texts))
    if parts.tools:
        tokens += count_tools(parts.tools)
    if parts.schema:
        tokens += count_tokens(parts.schema.decode("utf-8", "replace"))
    tokens += sum(map(rules.picture, parts.pictures))
    return tokens + sum(_count_file(file, rules) for file in parts.files)


def count_tools(raw: bytes) -> int:
    """Return the tokens of a list of tools, raw JSON."""
    tokens = FUNCTIONS
    for tool in msgspec.json.decode(raw):
        said = tool.get("function") or tool.get("custom") or tool
        about = f"{said.get('name', '')}:{_text(said.get('description')).rstrip('.')}"
        tokens += FUNCTION + count_tokens(about) + _count_schema(said.get("parameters"), 0)
    return tokens


def _count_schema(schema: object, depth: int) -> int:
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH:
        return 0
    properties = schema.get("properties")
    if not isinstance(properties, Mapping) or not properties:
        return _count_schema(schema.get("items"), depth + 1)
    tokens = PARAMETERS
    for name, one in properties.items():
        tokens += PARAMETER
        if not isinstance(one, Mapping):
            continue
        about = _text(one.get("description")).rstrip(".")
        tokens += count_tokens(f"{name}:{_text(one.get('type'))}:{about}")
        values = one.get("enum")
        if isinstance(values, list):
            tokens += sum(VALUE + count_tokens(str(value)) for value in values) - PARAMETER
        tokens += _count_schema(one, depth + 1)
    return tokens


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count_file(file: ReadyFile, rules: Rules) -> int:
    content = file.content
    if file.kind == "application/pdf":
        pages = len(_PDF_PAGE.findall(content)) or max(len(content) // PDF_PAGE_BYTES, 1)
        return pages * rules.page_tokens
    if file.kind.startswith(("audio/", "video/")):
        return -(-len(content) * rules.sound_tokens // _sound_bytes_per_s(file))
    return count_tokens(content.decode("utf-8", "replace"))


def _sound_bytes_per_s(file: ReadyFile) -> int:
    if file.kind == "audio/wav":
        return max(int.from_bytes(file.content[28:32], "little"), 1)
    return PCM16_BYTES_PER_S if file.kind == "audio/pcm" else MP3_BYTES_PER_S
