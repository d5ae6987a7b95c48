"""The database's catalogue, compiled for the hot path."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

import msgspec
from django.conf import settings
from django.db.models import Prefetch

from accounts.models import ConfigChange
from gateway.core.money import Price
from gateway.core.provider_connection import ConnectionSettings
from gateway.core.units import other_units
from gateway.models import LanguageModel, Provider, Target
from gateway.providers import catalogue
from gateway.services.credential_encryption import DecryptionFailed
from gateway.services.provider_connections import connection_settings
from gateway.services.snapshot_credentials import (
    NoUsableCredential,
    TargetCredentials,
    target_credentials,
)
from gateway.services.vllm_versions import dialect_of
from gateway.snapshot.types import ModelRecord, PromptRecord, Snapshot, TargetRecord
from gateway.stores.limit_rules import rules_of_installation

log = logging.getLogger(__name__)


def compile_snapshot() -> Snapshot:
    """Return the enabled models, with those of their targets that can be used, and their secrets.

    A provider that cannot be used is left out and logged; the rest is served. The version is read
    before the rows: a change in between is compiled again rather than missed.
    """
    newest = ConfigChange.objects.order_by("-id").values_list("id", flat=True).first()
    access = dict(_open_providers())
    targets = Target.objects.filter(provider__in=access).select_related("provider")
    rows = LanguageModel.objects.filter(enabled=True).prefetch_related(
        Prefetch("targets", queryset=targets, to_attr="usable_targets")
    )
    passable = {provider.name for provider in access if provider.allows_passthrough}
    models, aliases = {}, {}
    for row in rows:
        aliases.update(dict.fromkeys(row.aliases, row.name))
        models[row.name] = _compile_model(row, access)
        if not models[row.name].targets:
            log.warning("Model %s has no usable target and is not offered.", row.name)
    rules, model_rules = rules_of_installation()
    return Snapshot(
        newest or 0,
        MappingProxyType(models),
        MappingProxyType(aliases),
        _name_targets(models.values(), _spell_by_kind),
        _name_targets(
            models.values(),
            lambda target: (
                f"{target.provider}/{target.native_model}" if target.provider in passable else ""
            ),
        ),
        rules=rules,
        model_rules=model_rules,
    )


class Access(NamedTuple):
    """How to reach a provider, and what to show it."""

    credentials: TargetCredentials
    connection: ConnectionSettings | None


def _open_providers() -> Iterator[tuple[Provider, Access]]:
    """Yield each usable provider."""
    for provider in Provider.objects.filter(enabled=True).prefetch_related("credentials"):
        if provider.kind not in catalogue.BY_NAME:
            log.error("Provider %s is left out: kind %s is unknown.", provider, provider.kind)
            continue
        try:
            yield provider, Access(target_credentials(provider), connection_settings(provider))
        except NoUsableCredential as error:
            log.error("Provider %s is left out: %s", provider, error)
        except DecryptionFailed as error:
            log.error(
                "Provider %s is left out: its proxy password or client key cannot be decrypted. %s",
                provider,
                error,
            )


def _compile_prompt(row: LanguageModel) -> PromptRecord | None:
    mode, text = row.template_render_mode, row.default_system_prompt
    return None if mode == "off" and not text else PromptRecord(mode, text)


def _operation_of_targets(row: LanguageModel) -> str:
    """Return what a model's providers are asked for alone: a model with a system prompt of its own
    completes texts by chat, where that prompt has a place."""
    if row.operation in ("", "completions") and _compile_prompt(row) is not None:
        return "chat"
    return row.operation


def _name_targets(
    models: Iterable[ModelRecord], spell: Callable[[TargetRecord], str]
) -> Mapping[str, ModelRecord]:
    """Return what calls may name by a target, each with its model served by that target alone.

    spell: returns the name, empty for a target that calls may not name. What no model is served
    by is not there: so everything has a price, and a key that may not use a model does not get at
    it by another name. Of several models, the first by name has it.
    """
    named = {}
    for model in sorted(models, key=lambda model: model.name, reverse=True):
        for target in reversed(model.targets):
            if name := spell(target):
                named[name] = replace(model, targets=(target,))
    return MappingProxyType(named)


def _spell_by_kind(target: TargetRecord) -> str:
    is_ready = (
        target.secret or target.has_choice or not catalogue.BY_NAME[target.kind].needs_credential
    )
    if target.kind not in settings.SHORTHAND_PROVIDERS or not is_ready:
        return ""
    return f"{target.kind}::{target.native_model}"


def _other_prices(row: LanguageModel) -> Iterator[tuple[str, int]]:
    """Yield the prices that are set of units without fields of their own in Price."""
    for unit in other_units():
        pusd = getattr(row, unit.price_column) if unit.price_column else None
        if pusd is not None:
            yield unit.name, pusd


def _compile_model(row: LanguageModel, access: dict[Provider, Access]) -> ModelRecord:
    price = Price(
        input_pusd=row.input_pusd_per_token,
        cached_input_pusd=row.cached_input_pusd_per_token,
        output_pusd=row.output_pusd_per_token,
        others=tuple(_other_prices(row)),
    )
    usable: list[Target] = getattr(row, "usable_targets")  # noqa: B009  # set by the prefetch
    return ModelRecord(
        name=row.name,
        display_name=row.display_name or row.name,
        description=row.description,
        owned_by=row.owned_by,
        created=int(row.created_at.timestamp()),
        price=price,
        context_tokens=row.context_tokens,
        max_output_tokens=row.max_output_tokens,
        unknown_fields=row.unknown_fields,
        supports={
            "vision": row.supports_vision,
            "audio": row.supports_audio,
            "pdf": row.supports_pdf,
            "tools": row.supports_tools,
        },
        operation=row.operation,
        fallbacks=tuple(row.fallbacks),
        prompt=_compile_prompt(row),
        targets=tuple(
            TargetRecord(
                model=row.name,
                provider=target.provider.name,
                kind=target.provider.kind,
                base_url=target.provider.base_url,
                native_model=target.native_model,
                price=price,
                default_params=tuple(
                    (name, msgspec.json.encode(value)) for name, value in row.default_params.items()
                ),
                is_local=target.provider.is_local,
                location=target.provider.location,
                structured_dialect=dialect_of(target.provider),
                operation=_operation_of_targets(row),
                **access[target.provider].credentials._asdict(),
                connection=access[target.provider].connection,
                settings=catalogue.BY_NAME[target.provider.kind].complete(target.provider.settings),
            )
            for target in usable
        ),
    )
