"""Providers whose key is in the environment become providers of the installation."""

from __future__ import annotations

from collections.abc import Mapping

from django.core.exceptions import ValidationError
from django.db import transaction

from gateway.core.money import read_usd_per_mtok
from gateway.launch.failure import CannotStart
from gateway.models import LanguageModel, Provider
from gateway.providers import catalogue
from gateway.services.known_models import BY_KIND, KnownModel
from gateway.services.models import add_model, add_target
from gateway.services.providers import add_provider

ACTOR = "environment"


def add_found_providers(environ: Mapping[str, str]) -> list[str]:
    """Add a provider and its well-known models for each key found; return what was added.

    A kind that has a provider already is left alone: what people entered in the dashboard, or
    switched off there, counts for more than a variable. Raises CannotStart for a key that
    cannot be one.
    """
    added: list[str] = []
    for kind in catalogue.ALL:
        credential = environ.get(kind.env_var, "").strip() if kind.env_var else ""
        if not credential or Provider.objects.filter(kind=kind.name).exists():
            continue
        try:
            names = _add(kind.name, credential)
        except ValidationError as error:
            raise CannotStart(
                f"{kind.env_var} cannot be used: {' '.join(error.messages)}"
            ) from None
        added.append(f"{kind.label} ({', '.join(names)})")
    return added


@transaction.atomic
def _add(kind: str, credential: str) -> list[str]:
    provider = add_provider(name=kind, kind=kind, credential=credential, actor=ACTOR)
    known = BY_KIND.get(kind, ())
    for facts in known:
        existing = LanguageModel.objects.filter(name=facts.name).first()
        if existing is None:
            _add_model(provider, facts)
        else:  # another provider has brought it: this one is the next to be tried
            add_target(existing, provider=provider, native_model=facts.name, actor=ACTOR)
    return [facts.name for facts in known]


def _add_model(provider: Provider, facts: KnownModel) -> None:
    prices = facts.prices
    cached = None if prices.cached_usd is None else read_usd_per_mtok(prices.cached_usd)
    written = prices.cache_write_usd
    abilities = facts.abilities.split()
    add_model(
        name=facts.name,
        provider=provider,
        input_pusd=read_usd_per_mtok(prices.input_usd),
        cached_input_pusd=cached,
        output_pusd=read_usd_per_mtok(prices.output_usd),
        unit_prices=None if written is None else {"cache_write": read_usd_per_mtok(written)},
        context_tokens=facts.context_tokens,
        max_output_tokens=facts.max_output_tokens,
        supports_vision="vision" in abilities,
        supports_pdf="pdf" in abilities,
        supports_audio="audio" in abilities,
        supports_tools="tools" in abilities,
        actor=ACTOR,
    )
