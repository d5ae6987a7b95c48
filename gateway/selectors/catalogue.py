"""Models and providers as operators see them, those that are switched off included."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from gateway.models import LanguageModel, Provider, ProviderHealth, Target
from gateway.providers.catalogue import BY_NAME


def get_model(name: str) -> LanguageModel:
    """Return the model of this name. Raises LookupError."""
    model = LanguageModel.objects.filter(name=name).first()
    if model is None:
        raise LookupError(f"The model {name[:60]!r} does not exist.")
    return model


class ModelState(StrEnum):
    """UNSERVED: enabled, but no provider that is enabled has it."""

    OFFERED = "offered"
    UNSERVED = "unserved"
    DISABLED = "disabled"


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A model with its targets in the order in which they are tried."""

    model: LanguageModel
    targets: list[Target]

    @property
    def state(self) -> ModelState:
        if not self.model.enabled:
            return ModelState.DISABLED
        is_served = any(target.provider.enabled for target in self.targets)
        return ModelState.OFFERED if is_served else ModelState.UNSERVED


@dataclass(frozen=True, slots=True)
class ProviderRow:
    """A provider, how many models have a target there, and how many credentials it has. health:
    None where nothing is known."""

    provider: Provider
    models: int
    health: ProviderHealth | None
    credentials: int = 0

    @property
    def kind(self) -> str:
        """What its kind is called, or the kind itself where this version does not know it."""
        known = BY_NAME.get(self.provider.kind)
        return known.label if known else self.provider.kind


def model_rows(
    *, text: str = "", provider: str = "", offered: bool | None = None, limit: int
) -> list[ModelRow]:
    """Return up to `limit` models by name.

    text: part of a name; provider: a provider's name; offered: whether callers are served.
    """
    found = LanguageModel.objects.filter(Q(name__icontains=text) | Q(display_name__icontains=text))
    if provider:
        found = found.filter(Exists(_targets().filter(provider__name=provider)))
    if offered is not None:
        is_offered = Q(Exists(_targets().filter(provider__enabled=True)), enabled=True)
        found = found.filter(is_offered if offered else ~is_offered)
    models = found.order_by("name").prefetch_related("targets__provider")[:limit]
    return [ModelRow(model, list(model.targets.all())) for model in models]


def model_row(model: LanguageModel) -> ModelRow:
    return ModelRow(model, list(model.targets.select_related("provider")))


def provider_rows(*, text: str = "") -> list[ProviderRow]:
    """Return the providers whose name or address has the text in it, by name."""
    found = Provider.objects.filter(Q(name__icontains=text) | Q(base_url__icontains=text))
    counted = found.annotate(
        models=Count("targets__model", distinct=True),
        credential_rows=Count("credentials", distinct=True),
    ).order_by("name")
    health = ProviderHealth.objects.in_bulk([provider.pk for provider in counted])
    return [
        ProviderRow(each, each.models, health.get(each.pk), each.credential_rows)
        for each in counted
    ]


def provider_row(provider: Provider) -> ProviderRow:
    models = provider.targets.aggregate(models=Count("model", distinct=True))["models"]
    health = ProviderHealth.objects.filter(provider=provider).first()
    return ProviderRow(provider, models, health)


def provider_names() -> list[str]:
    return list(Provider.objects.order_by("name").values_list("name", flat=True))


def models_served_by_none_but(provider: Provider) -> list[str]:
    """Return the names of the models on offer that no other provider serves now."""
    others = _targets().filter(provider__enabled=True).exclude(provider=provider)
    found = LanguageModel.objects.filter(Exists(_targets().filter(provider=provider)), enabled=True)
    return list(found.exclude(Exists(others)).order_by("name").values_list("name", flat=True))


def _targets() -> QuerySet[Target]:
    return Target.objects.filter(model=OuterRef("pk"))
