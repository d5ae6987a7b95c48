"""What the fake upstream makes of a generateContent request: the same Chat that it plays for
OpenAI's."""

from __future__ import annotations

from typing import Any

from tests.fakes.asked import Chat, Message

ROLES = {"user": "user", "model": "assistant"}


def read_chat(body: dict[str, Any], model: str, *, stream: bool) -> Chat:
    """Return what was asked. A text is a message of its own, so that a script is found."""
    system = (body.get("systemInstruction") or {}).get("parts", [])
    messages = [Message("system", part["text"]) for part in system]
    for content in body["contents"]:
        messages += [_read_part(part, ROLES[content["role"]]) for part in content["parts"]]
    config = body.get("generationConfig") or {}
    functions = [f for tool in body.get("tools") or () for f in tool["functionDeclarations"]]
    return Chat(
        model=model,
        messages=messages,
        stream=stream,
        max_tokens=config.get("maxOutputTokens"),
        n=config.get("candidateCount", 1),
        tools=[{"function": {"name": function["name"]}} for function in functions] or None,
        tool_choice=_read_choice(body),
        response_format=_read_form(config),
        logprobs=config.get("responseLogprobs"),
        top_logprobs=config.get("logprobs"),
    )


def _read_choice(body: dict[str, Any]) -> str | None:
    """Return whether tools may be called, in OpenAI's words."""
    config = (body.get("toolConfig") or {}).get("functionCallingConfig") or {}
    return "none" if config.get("mode") == "NONE" else None


def tells_thoughts(body: dict[str, Any]) -> bool:
    config = body.get("generationConfig") or {}
    return bool((config.get("thinkingConfig") or {}).get("includeThoughts"))


def _read_part(part: dict[str, Any], role: str) -> Message:
    if "functionResponse" in part:
        said = part["functionResponse"]["response"]
        return Message("tool", " ".join(str(value) for value in said.values()))
    return Message(role, part.get("text", ""))


def _read_form(config: dict[str, Any]) -> dict[str, Any] | None:
    kind = config.get("responseMimeType")
    if kind not in ("application/json", "text/x.enum"):
        return None
    schema = config.get("responseJsonSchema") or config.get("responseSchema")
    if kind == "text/x.enum":
        return {"type": "enum", "schema": schema}
    if schema is None:
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"schema": schema}}
