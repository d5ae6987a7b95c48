"""A model as Anthropic's API shows it: https://platform.claude.com/docs/en/api/models/list"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

from gateway.snapshot.types import ModelRecord


class AnthropicModel(Struct, kw_only=True):
    type: Literal["model"] = "model"
    id: str
    display_name: str
    created_at: datetime
    lifecycle: Literal["active"] = "active"
    max_input_tokens: int | None
    max_tokens: int


class AnthropicModelList(Struct, kw_only=True):
    data: list[AnthropicModel]
    has_more: bool
    first_id: str | None
    last_id: str | None


def write_anthropic_model(model: ModelRecord) -> AnthropicModel:
    return AnthropicModel(
        id=model.name,
        display_name=model.display_name or model.name,
        created_at=datetime.fromtimestamp(model.created, UTC),
        max_input_tokens=model.context_tokens,
        max_tokens=model.max_output_tokens,
    )


def write_anthropic_list(models: list[ModelRecord], has_more: bool) -> AnthropicModelList:
    return AnthropicModelList(
        data=[write_anthropic_model(model) for model in models],
        has_more=has_more,
        first_id=models[0].name if models else None,
        last_id=models[-1].name if models else None,
    )
