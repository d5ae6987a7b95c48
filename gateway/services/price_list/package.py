"""Reads the price list that comes with the package genai-prices. Nothing is asked of the network.

https://github.com/pydantic/genai-prices has no limits of output and no abilities, and one price per
unit is taken: the lowest step of prices that depend on the prompt's length, none of batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from gateway.core.units import PUSD_PER_USD
from gateway.providers.catalogue import BY_NAME

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, ModelPrice
    from genai_prices.types import Provider as PackageProvider

PACKAGE = "genai-prices"
SOURCE = f"{PACKAGE} {version(PACKAGE)}"
# Kinds that the package calls otherwise. Others have the same name there, or no prices.
PACKAGE_IDS: Mapping[str, str] = {
    "xai": "x-ai",
    "moonshot": "moonshotai",
    "google_ai_studio_gemini": "google",
    "gcp_vertex_gemini": "google",
    "gcp_vertex_anthropic": "google",
    "aws_bedrock": "aws",
    "aws_bedrock_anthropic": "aws",
    "azure_openai": "azure",
    "azure_openai_entra": "azure",
}
_PER_MILLION = 1_000_000
_MS_PER_HOUR = 3_600_000
# Their field → our unit, and how many steps of the unit the price is for.
_FIELDS: Mapping[str, tuple[str, int]] = {
    "input_mtok": ("prompt", _PER_MILLION),
    "cache_read_mtok": ("cached", _PER_MILLION),
    "cache_write_mtok": ("cache_write", _PER_MILLION),
    "cache_write_1h_mtok": ("cache_write_1h", _PER_MILLION),
    "output_mtok": ("completion", _PER_MILLION),
    "input_mchars": ("character", _PER_MILLION),
    "audio_hours": ("second", _MS_PER_HOUR),
}
# What these fields mean at one kind alone.
_FIELDS_OF: Mapping[str, Mapping[str, tuple[str, int]]] = {
    # A request with a fee is one search (gateway.providers.openai_compatible.searches).
    "perplexity": {
        "requests_kcount": ("search", 1_000),
        "web_searches_kcount": ("search", 1_000),
        "output_reasoning_mtok": ("research", _PER_MILLION),
    },
}
# What costs there what the prompt does.
_AS_PROMPT: Mapping[str, frozenset[str]] = {"perplexity": frozenset({"output_citation_mtok"})}
MAX_NOTE = 300


@dataclass(frozen=True, kw_only=True)
class Listed:
    """One price of one model. The fields are those of gateway.models.ListPrice."""

    kind: str
    model_id: str
    name: str
    prices: dict[str, int]
    context_tokens: int | None
    note: str
    effective_from: date | None


def read_package() -> list[Listed]:
    """Return every price of providers that are kinds of ours, in their order by date."""
    return [price for kind in BY_NAME for price in _prices_of(kind)]


def listed_id(kind: str, native_model: str) -> str:
    """Return the price list's name for a provider's model; empty where it has none."""
    provider = _providers().get(PACKAGE_IDS.get(kind, kind))
    found = provider.find_model(native_model.lower()) if provider is not None else None
    return found.id if found is not None else ""


@cache
def _providers() -> Mapping[str, PackageProvider]:
    # Costs about 0.2 s and 30 MB, so only who asks for prices pays it.
    from genai_prices.data import providers

    return {provider.id: provider for provider in providers}


def _prices_of(kind: str) -> Iterator[Listed]:
    provider = _providers().get(PACKAGE_IDS.get(kind, kind))
    if provider is None:
        return
    for model in provider.models:
        yield from _read_model(kind, model)


def _read_model(kind: str, model: ModelInfo) -> Iterator[Listed]:
    from genai_prices.types import StartDateConstraint

    dated: list[tuple[date | None, ModelPrice]] = []
    if isinstance(model.prices, list):
        for conditional in model.prices:
            constraint = conditional.constraint
            if constraint is None:
                dated.append((None, conditional.prices))
            elif isinstance(constraint, StartDateConstraint):
                dated.append((constraint.start_date, conditional.prices))
            # Prices for hours of the day are not taken: ours hold all day.
    else:
        dated.append((None, model.prices))
    for since, price in dated:
        prices, note = _read_price(kind, price)
        if "prompt" in prices or "completion" in prices:
            yield Listed(
                kind=kind,
                model_id=model.id[:200],
                name=(model.name or "")[:200],
                prices=prices,
                context_tokens=model.context_window,
                note=note[:MAX_NOTE],
                effective_from=since,
            )


def _read_price(kind: str, price: ModelPrice) -> tuple[dict[str, int], str]:
    """Return the prices by unit, and a sentence on what they leave out."""
    prices: dict[str, int] = {}
    others: list[str] = []
    fields = {**_FIELDS, **_FIELDS_OF.get(kind, {})}
    as_prompt = _AS_PROMPT.get(kind, frozenset())
    is_tiered = False
    for name, given in vars(price).items():
        if given is None or (name in as_prompt and given == price.input_mtok):
            continue
        if name not in fields:
            others.append(name)
            continue
        base = getattr(given, "base", given)
        is_tiered |= base is not given
        unit, steps = fields[name]
        prices[unit] = int((Decimal(base) * PUSD_PER_USD / steps).to_integral_value())
    notes = []
    if is_tiered:
        notes.append("Long prompts cost more at the provider.")
    if others:
        # Without the unit at the end: input_audio_mtok.
        names = sorted(name.rpartition("_")[0].replace("_", " ") for name in others)
        notes.append(f"Not included: {', '.join(names)}.")
    return prices, " ".join(notes)
