"""What Converse refuses of a request beyond what its model says. The source is beside each."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from tests.fakes.bedrock.refused import Refused
from tests.fakes.bedrock.service_model import ModelMismatch, judge_request

# API reference, DocumentBlock.name
DOCUMENT_NAME = re.compile(r"(?:[a-zA-Z0-9()\[\]-]|(?<!\s)\s)+")
MISSING = "missing.model-v1:0"
TOOL_BLOCKS = ("toolUse", "toolResult")
Blocks = list[dict[str, Any]]


def refuse_body(operation: str, body: dict[str, Any], model_id: str) -> None:
    """Raise Refused for the first thing that the API would not take."""
    if model_id == MISSING:
        raise Refused("Could not resolve the foundation model from the model identifier.", 404)
    try:
        judge_request(operation, body, model_id)
    except ModelMismatch as error:
        raise Refused(str(error)) from None
    turns = [(message["role"], message["content"]) for message in body["messages"]]
    _refuse_roles([role for role, _ in turns])
    for place, (role, blocks) in enumerate(turns):
        _refuse_blocks(role, blocks, f"messages.{place}")
    _refuse_text([block for block in body.get("system", []) if "text" in block], "system")
    _refuse_documents([block for _, blocks in turns for block in blocks])
    _refuse_pairs(turns, body)
    _refuse_end(*turns[-1])
    _refuse_tools(body)


def _refuse_roles(roles: list[str]) -> None:
    # https://github.com/langchain-ai/langchain-aws/issues/146
    if not roles or roles[0] != "user":
        raise Refused("A conversation must start with a user message.")
    if any(role == before for before, role in pairwise(roles)):
        raise Refused("A conversation must alternate between user and assistant roles.")


def _refuse_blocks(role: str, blocks: Blocks, where: str) -> None:
    if not blocks:
        raise Refused(f"The content field in the Message object at {where} is empty.")
    _refuse_text([block for block in blocks if "text" in block], where)
    for block in blocks:
        # API reference, Message: "only include images and documents if the role is user".
        if role != "user" and {"image", "document", "toolResult"} & block.keys():
            raise Refused(f"{where}: this block is for user messages only.")
        if role != "assistant" and {"toolUse", "reasoningContent"} & block.keys():
            raise Refused(f"{where}: this block is for assistant messages only.")
        thought = block.get("reasoningContent", {}).get("reasoningText")
        if thought is not None and not thought.get("signature"):
            raise Refused(f"{where}: reasoningText.signature: Field required")
    if any("document" in block for block in blocks) and not any("text" in b for b in blocks):
        raise Refused(f"{where}: a document must be accompanied by a text block.")  # the same


def _refuse_text(blocks: Blocks, where: str) -> None:
    for number, block in enumerate(blocks):
        if not block["text"].strip():  # https://github.com/BerriAI/litellm/issues/9104
            raise Refused(
                f"The text field in the ContentBlock object at {where}.content.{number} is blank."
            )


def _refuse_documents(blocks: Blocks) -> None:
    names = [block["document"]["name"] for block in blocks if "document" in block]
    for name in names:
        if not DOCUMENT_NAME.fullmatch(name) or name != name.strip():
            raise Refused(f"The document file name can only contain … : {name!r}")
    if len(set(names)) < len(names):
        raise Refused("Messages cannot contain multiple documents with the same name.")


def _refuse_pairs(turns: list[tuple[str, Blocks]], body: dict[str, Any]) -> None:
    """Every toolUse has its toolResult in the next turn, before whatever else is said there."""
    called: list[str] = []
    seen: set[str] = set()
    for role, blocks in turns:
        if role == "user":
            given = [block["toolResult"]["toolUseId"] for block in blocks if "toolResult" in block]
            if sorted(given) != sorted(called):
                raise Refused(
                    "Expected toolResult blocks at messages for the following Ids: "
                    f"{', '.join(called)}, but found: {', '.join(given)}"
                )
            is_over = False
            for block in blocks:
                is_over |= not {"toolResult", "cachePoint"} & block.keys()
                if is_over and "toolResult" in block:
                    raise Refused("toolResult blocks must come first.")
            called = []
            continue
        called = [block["toolUse"]["toolUseId"] for block in blocks if "toolUse" in block]
        if len(set(called) | seen) < len(called) + len(seen):
            raise Refused("toolUse ids must be unique.")
        seen.update(called)
    if called:
        raise Refused("Expected toolResult blocks at the end.")
    has_blocks = any(name in block for _, b in turns for block in b for name in TOOL_BLOCKS)
    if has_blocks and not body.get("toolConfig"):  # langgenius/dify#17545
        raise Refused(
            "The toolConfig field must be defined when using toolUse and toolResult content blocks."
        )


def _refuse_end(role: str, blocks: Blocks) -> None:
    said = [block for block in blocks if "cachePoint" not in block]
    text = said[-1].get("text", "") if role == "assistant" else ""
    if text != text.rstrip():  # https://github.com/langchain-ai/langchain-aws/pull/599
        raise Refused("messages: final assistant content cannot end with trailing whitespace")


def _refuse_tools(body: dict[str, Any]) -> None:
    config = body.get("toolConfig") or {}
    specs = [tool["toolSpec"] for tool in config.get("tools", ()) if "toolSpec" in tool]
    names = [spec["name"] for spec in specs]
    if len(set(names)) < len(names):
        raise Refused("The provided tool names are not unique.")
    for spec in specs:
        if spec["inputSchema"]["json"].get("type") != "object":
            raise Refused("toolConfig: inputSchema.json.type must be one of the following: object.")
    wanted = config.get("toolChoice", {}).get("tool", {}).get("name")
    if wanted is not None and wanted not in names:
        raise Refused(f"The tool {wanted} is not among the tools.")
    thinking = (body.get("additionalModelRequestFields") or {}).get("thinking") or {}
    if thinking.get("type") == "enabled":
        if {"any", "tool"} & config.get("toolChoice", {}).keys():
            raise Refused("Thinking may not be enabled when tool_choice forces tool use.")
        if thinking["budget_tokens"] >= body["inferenceConfig"]["maxTokens"]:
            raise Refused("`max_tokens` must be greater than `thinking.budget_tokens`.")
        if body["inferenceConfig"].get("temperature", 1) != 1:
            raise Refused("`temperature` may only be set to 1 when thinking is enabled.")
