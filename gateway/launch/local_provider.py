"""The catalogue's side of the local model: a provider row that is on while its server runs."""

from __future__ import annotations

from django.db import transaction

from gateway.core.money import read_usd_per_mtok
from gateway.launch.local_model import CONTEXT_TOKENS, MAX_OUTPUT_TOKENS, MODEL, PROVIDER
from gateway.models import LanguageModel, Provider
from gateway.services.models import add_model, update_model
from gateway.services.providers import (
    add_provider,
    set_base_url,
    set_provider_enabled,
    update_provider,
)

ACTOR = "local model"


@transaction.atomic
def switch_on(port: int) -> None:
    """Send calls for the local model to this port, adding provider and model when missing."""
    url = f"http://127.0.0.1:{port}/v1"
    provider = Provider.objects.filter(name=PROVIDER).first()
    if provider is None:
        provider = add_provider(name=PROVIDER, kind="openai_compatible", base_url=url, actor=ACTOR)
    update_provider(provider, is_local=True, actor=ACTOR)
    set_base_url(provider, base_url=url, actor=ACTOR)
    set_provider_enabled(provider, enabled=True, actor=ACTOR)
    model = LanguageModel.objects.filter(name=MODEL).first()
    if model is not None:
        # Those that were added before anybody said what it lacks.
        if model.supports_tools is None:
            update_model(model, supports_tools=False, actor=ACTOR)
        return
    # It reads text alone, and its chat template has no place for tools.
    add_model(
        name=MODEL,
        display_name="SmolLM2 135M",
        description="A small model that runs on this machine. Fast, and often wrong.",
        owned_by="HuggingFaceTB",
        provider=provider,
        native_model=MODEL,
        input_pusd=read_usd_per_mtok("0.01"),
        output_pusd=read_usd_per_mtok("0.02"),
        context_tokens=CONTEXT_TOKENS,
        max_output_tokens=MAX_OUTPUT_TOKENS,
        supports_vision=False,
        supports_pdf=False,
        supports_audio=False,
        supports_tools=False,
        actor=ACTOR,
    )


def switch_off() -> None:
    """Send no calls to a local model that this start does not serve."""
    provider = Provider.objects.filter(name=PROVIDER, enabled=True).first()
    if provider is not None:
        set_provider_enabled(provider, enabled=False, actor=ACTOR)
