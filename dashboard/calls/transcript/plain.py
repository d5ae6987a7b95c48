"""Endpoints that take inputs and give results, and do not stream: embeddings, images, moderations
and rankings."""

from __future__ import annotations

from dashboard.calls.transcript.transcript import Message, Transcript, make_transcript
from dashboard.calls.transcript.values import (
    cut,
    error_of,
    facts_of,
    indented,
    inputs_of,
    items_of,
    object_of,
    objects_of,
    request_facts,
    shown,
    text_of,
    usage_facts,
)
from gateway.core.json_types import JsonObject

BYTES_OF_FLOAT = 4
FIRST_NUMBERS = 3
IMAGE_FACTS = ("n", "size", "quality", "style", "background", "output_format")


def read_inputs(body: JsonObject) -> Transcript:
    facts = request_facts(body, ("dimensions", "encoding_format"))
    return make_transcript(inputs_of(body.get("input"), "input"), facts)


def read_prompt(body: JsonObject) -> Transcript:
    prompts = inputs_of(body.get("prompt"), "prompt")
    return make_transcript(prompts, request_facts(body, IMAGE_FACTS))


def read_documents(body: JsonObject) -> Transcript:
    """Documents are numbered as the results name them."""
    messages = inputs_of(body.get("query"), "query")
    for index, document in enumerate(items_of(body.get("documents"))):
        message = Message(role="document", note=f"{index}", text=_document_text(document))
        messages.append(message)
    return make_transcript(messages, request_facts(body, ("top_n",)))


def read_embeddings(body: JsonObject) -> Transcript:
    results = [
        Message(
            role="embedding",
            note=shown(each.get("index")),
            text=_first_numbers(each.get("embedding")),
            parts=[f"{_dimensions(each.get('embedding')):,} numbers"],
        )
        for each in objects_of(body.get("data"))
    ]
    return make_transcript(results, usage_facts(body), error_of(body))


def read_images(body: JsonObject) -> Transcript:
    results = [
        Message(
            role="image",
            text=cut(text_of(each.get("revised_prompt")) or text_of(each.get("url"))),
            parts=_image_size(each),
        )
        for each in objects_of(body.get("data"))
    ]
    facts = [*facts_of(body, ("size", "quality", "output_format")), *usage_facts(body)]
    return make_transcript(results, facts, error_of(body))


def read_moderations(body: JsonObject) -> Transcript:
    results = []
    for each in objects_of(body.get("results")):
        found = [name for name, is_so in object_of(each.get("categories")).items() if is_so]
        flag = "flagged" if each.get("flagged") else "not flagged"
        results.append(Message(role="result", parts=[flag], text=cut(", ".join(found))))
    return make_transcript(results, usage_facts(body), error_of(body))


def read_ranking(body: JsonObject) -> Transcript:
    results = [
        Message(
            role="result",
            note=f"document {shown(each.get('index'))}",
            text=_document_text(each.get("document")),
            parts=[f"score {shown(each.get('relevance_score'))}"],
        )
        for each in objects_of(body.get("results"))
    ]
    return make_transcript(results, usage_facts(body), error_of(body))


def _document_text(document: object) -> str:
    """Return the text of a document, or all of it where it has none."""
    if not isinstance(document, dict):
        return cut(text_of(document))
    return cut(text_of(document.get("text"))) or indented(document)


def _dimensions(embedding: object) -> int:
    """Return how many numbers there are: base64 has them as floats of 32 bits."""
    if isinstance(embedding, list):
        return len(embedding)
    return _byte_count(text_of(embedding)) // BYTES_OF_FLOAT


def _first_numbers(embedding: object) -> str:
    if not isinstance(embedding, list):
        return ""
    first = ", ".join(shown(number) for number in embedding[:FIRST_NUMBERS])
    return f"{first}, …" if len(embedding) > FIRST_NUMBERS else first


def _image_size(image: JsonObject) -> list[str]:
    data = text_of(image.get("b64_json"))
    return [f"{_byte_count(data):,} bytes"] if data else []


def _byte_count(base64: str) -> int:
    return len(base64.rstrip("=")) * 3 // 4
