"""A few well-known models per provider, so that a provider's key in the environment is enough.

Prices are the providers' list prices in USD per million tokens as last looked up by hand. They
change without notice: compare them with the provider's price page before you charge anyone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class ListPrices(NamedTuple):
    """USD per million tokens."""

    input_usd: str
    output_usd: str
    # None: as much as other input.
    cached_usd: str | None = None
    # The same, for what is written to a prompt cache, for the shortest time that can be chosen.
    cache_write_usd: str | None = None
    # For an hour. None: as much as for the shortest time.
    cache_write_1h_usd: str | None = None


class KnownModel(NamedTuple):
    """Public name and native name are the same."""

    name: str
    prices: ListPrices
    context_tokens: int
    max_output_tokens: int
    # Those that the model has (vision, pdf, audio, tools); it lacks the others.
    abilities: str = "tools"


BY_KIND: Mapping[str, tuple[KnownModel, ...]] = {
    "openai": (
        KnownModel(
            "gpt-4o-mini", ListPrices("0.15", "0.60", "0.075"), 128_000, 16_384, "vision pdf tools"
        ),
        KnownModel(
            "gpt-4.1-mini",
            ListPrices("0.40", "1.60", "0.10"),
            1_047_576,
            32_768,
            "vision pdf tools",
        ),
        KnownModel(
            "gpt-4.1", ListPrices("2.00", "8.00", "0.50"), 1_047_576, 32_768, "vision pdf tools"
        ),
        KnownModel(
            "gpt-5-mini", ListPrices("0.25", "2.00", "0.025"), 400_000, 128_000, "vision pdf tools"
        ),
        KnownModel(
            "gpt-5", ListPrices("1.25", "10.00", "0.125"), 400_000, 128_000, "vision pdf tools"
        ),
    ),
    "anthropic": (
        KnownModel(
            "claude-haiku-4-5",
            ListPrices("1.00", "5.00", "0.10", "1.25", "2.00"),
            200_000,
            64_000,
            "vision pdf tools",
        ),
        KnownModel(
            "claude-sonnet-5-5",
            ListPrices("2.00", "10.00", "0.10", "2.50", "4.00"),
            1_000_000,
            128_000,
            "vision pdf tools",
        ),
        KnownModel(
            "claude-opus-5-5",
            ListPrices("4.00", "20.00", "0.20", "5.00", "8.00"),
            1_000_000,
            128_000,
            "vision pdf tools",
        ),
    ),
    "aws_bedrock": (
        KnownModel(
            "amazon.nova-lite-v1:0",
            ListPrices("0.06", "0.24", "0.015"),
            300_000,
            10_000,
            "vision pdf tools",
        ),
        KnownModel(
            "amazon.nova-pro-v1:0",
            ListPrices("0.80", "3.20", "0.20"),
            300_000,
            10_000,
            "vision pdf tools",
        ),
    ),
    "google_ai_studio_gemini": (
        KnownModel(
            "gemini-3.5-flash-lite",
            ListPrices("0.30", "2.50", "0.03"),
            1_048_576,
            65_536,
            "vision pdf audio tools",
        ),
        KnownModel(
            "gemini-3.8-flash",
            ListPrices("1.50", "7.50", "0.15"),
            1_048_576,
            65_536,
            "vision pdf audio tools",
        ),
        KnownModel(
            "gemini-4-argon",
            ListPrices("4.00", "20.00", "0.20"),
            1_048_576,
            65_536,
            "vision pdf audio tools",
        ),
    ),
    "together": (
        KnownModel(
            "meta-llama/Llama-3.3-70B-Instruct-Turbo", ListPrices("0.88", "0.88"), 131_072, 8_192
        ),
    ),
    "deepseek": (
        KnownModel("deepseek-chat", ListPrices("0.28", "0.42", "0.028"), 128_000, 8_192),
        KnownModel("deepseek-reasoner", ListPrices("0.28", "0.42", "0.028"), 128_000, 65_536),
    ),
    "fireworks": (
        KnownModel(
            "accounts/fireworks/models/llama-v3p3-70b-instruct",
            ListPrices("0.90", "0.90"),
            131_072,
            16_384,
        ),
    ),
    "hyperbolic": (
        KnownModel("meta-llama/Llama-3.3-70B-Instruct", ListPrices("0.40", "0.40"), 131_072, 8_192),
    ),
    "xai": (
        KnownModel("grok-3-mini", ListPrices("0.30", "0.50", "0.075"), 131_072, 16_384),
        KnownModel("grok-4", ListPrices("3.00", "15.00", "0.75"), 256_000, 64_000, "vision tools"),
    ),
    "mistral": (
        KnownModel(
            "mistral-small-latest", ListPrices("0.10", "0.30"), 128_000, 16_384, "vision tools"
        ),
        KnownModel(
            "mistral-large-latest", ListPrices("2.00", "6.00"), 128_000, 16_384, "vision tools"
        ),
    ),
    "openrouter": (
        KnownModel(
            "openai/gpt-4o-mini",
            ListPrices("0.15", "0.60", "0.075"),
            128_000,
            16_384,
            "vision pdf tools",
        ),
        KnownModel(
            "meta-llama/llama-3.3-70b-instruct", ListPrices("0.13", "0.40"), 131_072, 16_384
        ),
    ),
}
