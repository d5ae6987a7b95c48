"""Providers whose key is in the environment become providers of the installation."""

from __future__ import annotations

from collections.abc import Mapping

from django.core.exceptions import ValidationError
from django.db import transaction

from gateway.core.money import read_usd_per_mtok
from gateway.core.units import CACHE_WRITE, CACHE_WRITE_1H
from gateway.launch.failure import CannotStart
from gateway.models import LanguageModel, Provider
from gateway.providers import catalogue
from gateway.services.known_models import BY_KIND, KnownModel
from gateway.services.models import add_model, add_target
from gateway.services.providers import add_provider

ACTOR = "environment"


def add_found_providers(environ: Mapping[str, str]) -> list[str]:
    """Add a provider and its well-known models for each key found; return what was added.

    A kind is left alone that has a provider already: what people entered in the dashboard, or
    switched off there, counts for more than a variable; and one that needs settings which the
    environment does not have. Raises CannotStart for a key that cannot be one.
    """
    added: list[str] = []
    for kind in catalogue.ALL:
        variable = next((name for name in kind.env_vars if environ.get(name, "").strip()), "")
        credential = environ.get(variable, "").strip()
        settings = {each.name: environ.get(each.env_var, "").strip() for each in kind.settings}
        applied = kind.complete(settings)
        if any(each.required and each.name not in applied for each in kind.settings):
            continue
        if not credential or Provider.objects.filter(kind=kind.name).exists():
            continue
        try:
            names = _add(kind.name, credential, settings)
        except ValidationError as error:
            raise CannotStart(f"{variable} cannot be used: {' '.join(error.messages)}") from None
        added.append(f"{kind.label} ({', '.join(names)})")
    return added


@transaction.atomic
def _add(kind: str, credential: str, settings: Mapping[str, str]) -> list[str]:
    provider = add_provider(
        name=kind, kind=kind, credential=credential, settings=settings, actor=ACTOR
    )
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
    written = {CACHE_WRITE: prices.cache_write_usd, CACHE_WRITE_1H: prices.cache_write_1h_usd}
    abilities = facts.abilities.split()
    add_model(
        name=facts.name,
        provider=provider,
        input_pusd=read_usd_per_mtok(prices.input_usd),
        cached_input_pusd=cached,
        output_pusd=read_usd_per_mtok(prices.output_usd),
        unit_prices={name: read_usd_per_mtok(usd) for name, usd in written.items() if usd},
        context_tokens=facts.context_tokens,
        max_output_tokens=facts.max_output_tokens,
        supports_vision="vision" in abilities,
        supports_pdf="pdf" in abilities,
        supports_audio="audio" in abilities,
        supports_tools="tools" in abilities,
        actor=ACTOR,
    )
