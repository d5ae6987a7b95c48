"""A model as the API shows it (gateway contract, section 7.8)."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from gateway.core.money import PUSD_PER_TOKEN_PER_USD_PER_MTOK, Price
from gateway.core.units import CACHE_WRITE, CACHE_WRITE_1H, UNITS
from gateway.snapshot.types import ModelRecord


class UnitPrice(Struct):
    """The price of a unit that is not counted in tokens."""

    unit: str
    price: Annotated[float, Meta(description="USD.")]
    per: Annotated[str, Meta(description="What the price is for, such as image or second.")]


class Pricing(Struct, kw_only=True):
    """USD per million tokens."""

    prompt: float
    completion: float
    cached_prompt: float
    cache_write: Annotated[
        float, Meta(description="Prompt tokens written to the provider's cache.")
    ]
    cache_write_1h: (
        Annotated[
            float, Meta(description="Those that it keeps for an hour. Present where it differs.")
        ]
        | UnsetType
    ) = UNSET
    research: (
        Annotated[
            float,
            Meta(
                description="Completion tokens that the model thinks with while it searches. "
                "Present where they have a price of their own."
            ),
        ]
        | UnsetType
    ) = UNSET
    unit: Literal["per_million_tokens"]
    other_units: (
        Annotated[list[UnitPrice], Meta(description="Present where the model has such prices.")]
        | UnsetType
    ) = UNSET


class Capabilities(Struct, kw_only=True):
    """What Mistral's SDKs ask of a model: https://docs.mistral.ai/api/endpoint/models"""

    completion_chat: bool
    function_calling: bool
    vision: bool
    audio: bool
    audio_transcription: bool
    audio_speech: bool
    moderation: bool


class Model(Struct, kw_only=True):
    id: str
    object: Literal["model"]
    type: Annotated[Literal["base"], Meta(description="As in Mistral's API.")]
    created: int
    owned_by: str
    display_name: str
    description: str
    context_length: int | None
    max_context_length: (
        Annotated[int, Meta(description="context_length, as in Mistral's API. Absent if unknown.")]
        | UnsetType
    ) = UNSET
    max_output_tokens: int
    pricing: Pricing
    capabilities: Annotated[
        Capabilities, Meta(description="The same as supported_features, as in Mistral's API.")
    ]
    supportsVision: bool  # noqa: N815 (a product's own spelling)
    supportsPdf: bool  # noqa: N815
    supportsTools: bool  # noqa: N815
    supportsAudio: bool  # noqa: N815
    supported_features: list[str]
    datacenter_locations: list[str]
    is_local: bool


class ModelList(Struct):
    object: Literal["list"]
    data: list[Model]
    has_more: (
        Annotated[bool, Meta(description="More models follow this page. Present with limit only.")]
        | UnsetType
    ) = UNSET


def write_model(model: ModelRecord) -> Model:
    return Model(
        id=model.name,
        object="model",
        type="base",
        created=model.created,
        owned_by=model.owned_by or "tollhouse",
        display_name=model.display_name,
        description=model.description,
        context_length=model.context_tokens,
        max_context_length=UNSET if model.context_tokens is None else model.context_tokens,
        max_output_tokens=model.max_output_tokens,
        pricing=write_pricing(model.price),
        capabilities=write_capabilities(model),
        supportsVision=model.can("vision"),
        supportsPdf=model.can("pdf"),
        supportsTools=model.can("tools"),
        supportsAudio=model.can("audio"),
        supported_features=write_features(model),
        datacenter_locations=sorted({t.location for t in model.targets if t.location}),
        is_local=bool(model.targets) and all(t.is_local for t in model.targets),
    )


def write_capabilities(model: ModelRecord) -> Capabilities:
    is_chat = model.operation in ("", "chat")
    return Capabilities(
        completion_chat=is_chat,
        function_calling=is_chat and model.can("tools"),
        vision=is_chat and model.can("vision"),
        audio=is_chat and model.can("audio"),
        audio_transcription=model.operation == "transcriptions",
        audio_speech=model.operation == "speech",
        moderation=model.operation == "moderations",
    )


def write_features(model: ModelRecord) -> list[str]:
    """Return what may be asked of the model; guided decoding only where every target has it."""
    if model.operation not in ("", "chat"):
        return [model.operation]
    features = ["streaming", "json_schema"]
    features += [name for name in ("tools", "vision", "pdf", "audio") if model.can(name)]
    if model.targets and all(target.kind == "vllm" for target in model.targets):
        features.append("guided_decoding")
    return sorted(features)


def write_pricing(price: Price) -> Pricing:
    written_pusd, for_an_hour_pusd = price.of(CACHE_WRITE), price.of(CACHE_WRITE_1H)
    return Pricing(
        prompt=price.input_pusd / PUSD_PER_TOKEN_PER_USD_PER_MTOK,
        completion=price.output_pusd / PUSD_PER_TOKEN_PER_USD_PER_MTOK,
        cached_prompt=price.cached_input_pusd / PUSD_PER_TOKEN_PER_USD_PER_MTOK,
        cache_write=written_pusd / PUSD_PER_TOKEN_PER_USD_PER_MTOK,
        cache_write_1h=(
            UNSET
            if for_an_hour_pusd == written_pusd
            else for_an_hour_pusd / PUSD_PER_TOKEN_PER_USD_PER_MTOK
        ),
        research=(
            price.of("research") / PUSD_PER_TOKEN_PER_USD_PER_MTOK
            if "research" in dict(price.others)
            else UNSET
        ),
        unit="per_million_tokens",
        other_units=[
            UnitPrice(name, pusd / UNITS[name].pusd_per_shown_usd, UNITS[name].price_noun)
            for name, pusd in price.others
            if UNITS[name].noun != "tokens"
        ]
        or UNSET,
    )
