"""Content blocks of Anthropic's format as parts in OpenAI's spelling."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.core.errors import InvalidFile
from gateway.core.json_types import JsonObject
from gateway.endpoints.messages import schema
from gateway.endpoints.messages.answer_schema import OWN_INDEX

CACHE_CONTROL = "cache_control"
INDEX = "encrypted_index"
BETWEEN = "\n\n"
PDF = "application/pdf"
# A part, and where it stands in the request.
Placed = tuple[JsonObject, str]
ContentBlock = (
    schema.TextBlock
    | schema.ImageBlock
    | schema.DocumentBlock
    | schema.SearchResultBlock
    | schema.ToolReferenceBlock
)


def write_block(block: ContentBlock, path: str) -> list[Placed]:
    """Return the parts that a block comes to. Raises UnsupportedParameter, InvalidFile."""
    if isinstance(block, schema.TextBlock):
        parts = [(text_part(block.text), f"{path}.text")]
    elif isinstance(block, schema.ImageBlock):
        parts = [_write_image(block.source, f"{path}.source")]
    elif isinstance(block, schema.DocumentBlock):
        parts = _write_document(block, f"{path}.source")
    elif isinstance(block, schema.ToolReferenceBlock):
        parts = [(text_part(f"The tool {block.tool_name} is available."), f"{path}.tool_name")]
    else:
        said = [block.title, block.source, BETWEEN.join(text.text for text in block.content)]
        parts = [(text_part("\n".join(said)), f"{path}.content")]
    if parts:
        part, place = parts[-1]
        parts[-1] = (marked(part, block.cache_control), place)
    return parts


def asks_for_citations(block: object) -> bool:
    """True where the answer is to name its sources, which no other format can."""
    if not isinstance(block, schema.DocumentBlock | schema.SearchResultBlock):
        return False
    return block.citations is not None and bool(block.citations.enabled)


def has_own_citations(block: schema.TextBlock) -> bool:
    """True for a text that cites what a tool of the gateway has found, which Anthropic's API does
    not know."""
    cited = block.citations if isinstance(block.citations, list) else []
    return any(isinstance(one, dict) and one.get(INDEX) == OWN_INDEX for one in cited)


def text_part(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def marked(part: JsonObject, mark: schema.CacheControl) -> JsonObject:
    return part if mark is None else {**part, CACHE_CONTROL: mark}


def join_texts(parts: Sequence[JsonObject], between: str) -> str | Sequence[JsonObject]:
    """Return texts as one, which all providers take; marks for the cache keep them apart."""
    if any(CACHE_CONTROL in part for part in parts):
        return parts
    return between.join(str(part["text"]) for part in parts)


def _write_image(
    source: schema.Base64Source | schema.UrlSource | schema.ProviderFile, path: str
) -> Placed:
    if isinstance(source, schema.ProviderFile):
        return _write_stored(source, path)
    if isinstance(source, schema.UrlSource):
        return {"type": "image_url", "image_url": {"url": source.url}}, f"{path}.url"
    url = f"data:{source.media_type};base64,{source.data}"
    return {"type": "image_url", "image_url": {"url": url}}, f"{path}.data"


def _write_document(block: schema.DocumentBlock, path: str) -> list[Placed]:
    source = block.source
    about = [text for text in (block.title, block.context) if text]
    if isinstance(source, schema.TextSource):
        return [(text_part(BETWEEN.join([*about, source.data])), f"{path}.data")]
    if isinstance(source, schema.ContentSource):
        parts = [(text_part(BETWEEN.join(about)), path)] if about else []
        if isinstance(source.content, str):
            return [*parts, (text_part(source.content), f"{path}.content")]
        for index, inner in enumerate(source.content):
            parts += write_block(inner, f"{path}.content.{index}")
        return parts
    parts = [(text_part(block.context), path)] if block.context else []
    return [*parts, _write_file(source, block.title or "document.pdf", path)]


def _write_file(
    source: schema.Base64Source | schema.UrlSource | schema.ProviderFile, name: str, path: str
) -> Placed:
    if isinstance(source, schema.ProviderFile):
        return _write_stored(source, path)
    if isinstance(source, schema.UrlSource):
        file = {"filename": name, "file_url": source.url}
        return {"type": "file", "file": file}, f"{path}.url"
    if source.media_type.lower() != PDF:
        raise InvalidFile(f"The media type must be {PDF}.", param=f"{path}.media_type")
    file = {"filename": name, "file_data": f"data:{PDF};base64,{source.data}"}
    return {"type": "file", "file": file}, f"{path}.data"


def _write_stored(source: schema.ProviderFile, path: str) -> Placed:
    """Return a file of ours by its ID. Its bytes say whether it is a picture."""
    return {"type": "file", "file": {"file_id": source.file_id}}, f"{path}.file_id"
