"""What tools of OpenAI's did in earlier responses, as text.

OpenAI's own models get the items as they are. Others are told in words, as they are of tools that
Anthropic has run (gateway.endpoints.messages.server_blocks): there is no such tool for them.
"""

from __future__ import annotations

from msgspec.json import encode

from gateway.endpoints.responses import schema


def write_hosted(item: schema.HostedItem) -> str:
    """Return an item as text; empty for what says nothing about the conversation."""
    match item:
        case schema.WebSearchCallItem():
            return _write("web_search", item.action, None)
        case schema.FileSearchCallItem():
            return _write("file_search", item.queries, item.results)
        case schema.CodeCallItem():
            return _write("code_interpreter", item.code, item.outputs)
        case schema.McpCallItem():
            return _write(item.name, item.arguments, item.output)
        case schema.McpListToolsItem():
            return ""


def _write(name: str, asked: object, returned: object) -> str:
    lines = [f"[{name}: {_text(asked)}]"] if asked else []
    if returned:
        lines.append(f"[Result of {name}: {_text(returned)}]")
    return "\n".join(lines)


def _text(value: object) -> str:
    return value if isinstance(value, str) else encode(value).decode()
