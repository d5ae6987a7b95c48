"""What the Gemini API refuses of the contents: roles, empty parts, pairs of calls and responses,
calls without a signature, media types. Wordings as users quote them; sources beside them."""

from __future__ import annotations

from typing import Any

from tests.fakes.gemini.models import Model
from tests.fakes.gemini.refused import Refused

PICTURES = ("image/png", "image/jpeg", "image/webp", "image/heic", "image/heif")
SOUNDS = ("audio/wav", "audio/mp3", "audio/aiff", "audio/aac", "audio/ogg", "audio/flac")
DOCUMENTS = ("application/pdf", "text/plain")
KNOWN = frozenset((*PICTURES, *SOUNDS, *DOCUMENTS))
DATA = ("text", "inlineData", "fileData", "functionCall", "functionResponse")
Turns = list[tuple[str, list[dict[str, Any]]]]


def refuse_contents(body: dict[str, Any], model: Model, *, is_vertex: bool) -> None:
    """Raise Refused for the first thing in the contents that the API would not take."""
    contents = body.get("contents")
    if not contents:  # googleapis/python-genai#1203
        raise Refused("* GenerateContentRequest.contents: contents is not specified\n")
    turns = [(content.get("role", ""), content.get("parts") or []) for content in contents]
    for place, (role, parts) in enumerate(turns):
        if role not in ("user", "model"):  # langchain-ai/langchain-google#38
            raise Refused("Please use a valid role: user, model.")
        if not parts:
            raise Refused(
                f"* GenerateContentRequest.contents[{place}].parts: contents.parts must not be"
                " empty.\n"
            )
        for part in parts:
            _refuse_part(part, is_vertex=is_vertex)
    _refuse_order(turns)
    if model.signs_calls:
        _refuse_unsigned(turns)
    for part in (body.get("systemInstruction") or {}).get("parts", []):
        if not part.get("text"):
            raise Refused("System instructions should be text only.")


def _refuse_part(part: dict[str, Any], *, is_vertex: bool) -> None:
    found = [name for name in DATA if name in part]
    if len(found) != 1:
        raise Refused("Invalid value at part: oneof field 'data' is already set or not set.")
    if part.get("text") == "" and "thoughtSignature" not in part:  # BerriAI/litellm#4075
        raise Refused("Unable to submit request because it must have a text parameter.")
    blob = part.get("inlineData") or {}
    if blob and blob.get("mimeType") not in KNOWN:
        raise Refused(f"Unsupported MIME type: {blob.get('mimeType')}")
    file = part.get("fileData") or {}
    if file and not str(file.get("fileUri")).startswith("https://"):
        raise Refused(f"Unsupported file URI type: {file.get('fileUri')}")
    # Vertex AI's reference of FileData: mimeType is required.
    if file and is_vertex and file.get("mimeType") not in KNOWN:
        raise Refused("Unable to submit request because it has an empty mimeType parameter.")


def _named(parts: list[dict[str, Any]], kind: str) -> list[str]:
    return [part[kind].get("name") for part in parts if kind in part]


def _refuse_order(turns: Turns) -> None:
    """Refuse calls and responses that do not belong together (google-gemini/deprecated-generative-
    ai-python#429)."""
    for place, (role, parts) in enumerate(turns):
        called, answered = _named(parts, "functionCall"), _named(parts, "functionResponse")
        before = turns[place - 1] if place else ("", [])
        if called and (role != "model" or before[0] != "user"):
            raise Refused(
                "Please ensure that function call turn comes immediately after a user turn or"
                " after a function response turn."
            )
        if answered and (role != "user" or not _named(before[1], "functionCall")):
            raise Refused(
                "Please ensure that function response turn comes immediately after a function"
                " call turn."
            )
        if answered and _pairs(parts, "functionResponse") != _pairs(before[1], "functionCall"):
            raise Refused(
                "Please ensure that the number of function response parts is equal to the number"
                " of function call parts of the function call turn."
            )
        if called and not (
            place + 1 < len(turns) and _named(turns[place + 1][1], "functionResponse")
        ):
            raise Refused("Requests must not end with a function call turn.")


def _pairs(parts: list[dict[str, Any]], kind: str) -> list[tuple[str, str]]:
    """Return id and name of each: what answers a call has both of them."""
    found = [part[kind] for part in parts if kind in part]
    return sorted((each.get("id", ""), each.get("name", "")) for each in found)


def _refuse_unsigned(turns: Turns) -> None:
    """Of the current turn, the first call of each step has its signature
    (ai.google.dev/gemini-api/docs/thought-signatures)."""
    begin = max(
        (n for n, (role, parts) in enumerate(turns) if role == "user" and _has_text(parts)),
        default=0,
    )
    for place, (_, parts) in enumerate(turns[begin:], begin):
        calls = [part for part in parts if "functionCall" in part]
        if calls and "thoughtSignature" not in calls[0]:
            name = calls[0]["functionCall"]["name"]
            raise Refused(  # zed-industries/zed#43024
                f"Function call is missing a thought_signature in functionCall parts. This is"
                f" required for tools to work correctly. Additional data, function call"
                f" `default_api:{name}` , position {place}."
            )


def _has_text(parts: list[dict[str, Any]]) -> bool:
    return any("functionResponse" not in part for part in parts)
