"""The only module that writes public models, their prices and their targets."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TypedDict, Unpack

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Max, QuerySet

from accounts.all_errors import raising_all
from accounts.changes import record_audit, record_change
from accounts.models import ConfigChange
from accounts.text import is_visible
from gateway.core.operations import OPERATIONS
from gateway.core.units import other_units
from gateway.models import LanguageModel, Provider, Target
from gateway.services.changed_fields import change_fields
from gateway.services.default_params import check_default_params
from gateway.services.prompt_templates import check_prompt
from gateway.services.unusual_prices import is_free_to_us, refuse_free_output, refuse_unusual

# 1 USD per token. With at most 2^31 tokens a hold stays far within 64 bits of nano-USD.
MAX_PUSD_PER_TOKEN = 10**12
MAX_PUSD_PER_STEP = 10**15  # 1,000 USD for an image
MAX_TOKENS = 2**31 - 1
NATIVE_CHARS = 200
DESCRIPTION_CHARS = 2_000
MAX_ALIASES = 20
MAX_FALLBACKS = 5
NAMES_ARE = "Enter 1 to 200 letters, digits and . _ : / @ + -, starting with a letter or digit."
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,199}")
_PRICE_FIELDS = (
    *("input_pusd_per_token", "cached_input_pusd_per_token", "output_pusd_per_token"),
    *(unit.price_column for unit in other_units() if unit.price_column),
)


# Prices of units (gateway.core.units) beside input, cached input and output.
UnitPrices = Mapping[str, int | None]


class Described(TypedDict, total=False):
    """A model's settings other than its name, prices and targets."""

    # Other names that callers may use.
    aliases: list[str]
    # Names of the models that serve its calls when it cannot, in order.
    fallbacks: list[str]
    display_name: str
    description: str
    owned_by: str
    context_tokens: int | None
    unknown_fields: str
    # Fields sent upstream unless the caller sets them.
    default_params: dict[str, object]
    # off, vars or logic.
    template_render_mode: str
    # Comes before the system messages of every call.
    default_system_prompt: str
    # None: unknown. Only False refuses a call.
    supports_vision: bool | None
    supports_pdf: bool | None
    supports_audio: bool | None
    supports_tools: bool | None
    # Of gateway.core.operations: calls of others are refused. Empty: unknown.
    operation: str


class ModelFields(Described, total=False):
    """What update_model can change."""

    max_output_tokens: int


@transaction.atomic
def add_model(
    *,
    name: str,
    provider: Provider,
    native_model: str = "",
    input_pusd: int,
    output_pusd: int,
    cached_input_pusd: int | None = None,
    unit_prices: UnitPrices | None = None,
    max_output_tokens: int,
    actor: str,
    may_be_free: bool = False,
    **described: Unpack[Described],
) -> LanguageModel:
    """Add a public model with its first target. Prices are pico-USD per token.

    native_model: the provider's name for it; empty means the public one.
    cached_input_pusd: None means that tokens from a cache cost what others do. unit_prices: by
    name, pico-USD per step of the unit (gateway.core.units); None: not set.
    may_be_free: confirms a price of 0; a provider that costs us nothing needs no confirmation.
    Raises ValidationError for the fields that cannot be taken, UnusualPrice where one is missing.
    """
    described["owned_by"] = described.get("owned_by") or provider.name
    model = LanguageModel(name=name, max_output_tokens=max_output_tokens, **described)
    with raising_all() as gather:
        with gather():
            check_new_model(model)
        if native_model:  # else it is the name, which is checked
            with gather():
                read_native_model(native_model)
        with gather():
            prices = read_prices(
                input_pusd=input_pusd,
                output_pusd=output_pusd,
                cached_input_pusd=cached_input_pusd,
                unit_prices=unit_prices,
            )
    for column, pusd in prices.items():
        setattr(model, column, pusd)
    may_be_free |= is_free_to_us([provider])
    confirmed = {"may_be_free": may_be_free, "may_jump": True}
    refuse_unusual(prices, None, operation=model.operation, **confirmed)
    model.save()
    target = _insert_target(model, provider, native_model or name)
    limits = {"max_output_tokens": max_output_tokens}
    details = {"target": str(target), **prices, **limits, **described}
    _record(model, actor=actor, action="model.add", details=details)
    return model


@transaction.atomic
def update_model(model: LanguageModel, *, actor: str, **fields: Unpack[ModelFields]) -> bool:
    """Change the fields that are given. Returns False when nothing is different.

    Raises ValidationError for those that cannot be taken.
    """
    details = change_fields(model, fields, check_model)
    if details:
        _record(model, actor=actor, action="model.update", details=details)
    return bool(details)


@transaction.atomic
def add_target(
    model: LanguageModel, *, provider: Provider, native_model: str, actor: str
) -> Target:
    """Add another way to serve the model, tried after those it has. Raises ValidationError."""
    target = _insert_target(model, provider, native_model)
    _record(model, actor=actor, action="model.add_target", details={"target": str(target)})
    return target


@transaction.atomic
def set_prices(
    model: LanguageModel,
    *,
    input_pusd: int,
    output_pusd: int,
    cached_input_pusd: int | None = None,
    unit_prices: UnitPrices | None = None,
    actor: str,
    may_be_free: bool = False,
    may_jump: bool = False,
) -> bool:
    """Change what calls cost from now on. Returns False when nothing is different.

    Calls that run keep the price they were admitted at. unit_prices: those of other units that
    change, as in add_model. may_be_free: as there. may_jump:
    confirms ten times as much as before, or a tenth. Raises ValidationError, and UnusualPrice
    where a confirmation is missing.
    """
    prices = read_prices(
        input_pusd=input_pusd,
        output_pusd=output_pusd,
        cached_input_pusd=cached_input_pusd,
        unit_prices=unit_prices,
    )
    before = LanguageModel.objects.values(*prices).get(pk=model.pk)
    details = {name: [before[name], price] for name, price in prices.items()}
    if before == prices:
        return False
    may_be_free |= is_free_to_us(target.provider for target in _targets(model))
    confirmed = {"may_be_free": may_be_free, "may_jump": may_jump}
    refuse_unusual(prices, before, operation=model.operation, **confirmed)
    LanguageModel.objects.filter(pk=model.pk).update(**prices)
    model.refresh_from_db(fields=list(prices))
    _record(model, actor=actor, action="model.set_prices", details=details)
    return True


def check_operation_change(model: LanguageModel, before: str, *, may_be_free: bool) -> None:
    """Raise UnusualPrice where the output tokens that the model can have now are free. To be called
    once operation and prices are written. before: the operation until now."""
    may_be_free |= is_free_to_us(target.provider for target in _targets(model))
    price = model.output_pusd_per_token
    refuse_free_output(before, model.operation, price, may_be_free=may_be_free)


@transaction.atomic
def set_model_enabled(model: LanguageModel, *, enabled: bool, actor: str) -> bool:
    """Offer the model to callers, or no more. Returns False when nothing changes."""
    changed = LanguageModel.objects.filter(pk=model.pk, enabled=not enabled).update(enabled=enabled)
    model.enabled = enabled
    if changed:
        action = "model.enable" if enabled else "model.disable"
        _record(model, actor=actor, action=action, details={})
    return changed == 1


def _targets(model: LanguageModel) -> QuerySet[Target]:
    return model.targets.select_related("provider")


def _insert_target(model: LanguageModel, provider: Provider, native_model: str) -> Target:
    native_model = read_native_model(native_model)
    if model.targets.filter(provider=provider, native_model=native_model).exists():
        raise ValidationError({"native_model": f"{model} already has this target."})
    last = model.targets.aggregate(last=Max("position"))["last"]
    position = 0 if last is None else last + 1
    return Target.objects.create(
        model=model, provider=provider, native_model=native_model, position=position
    )


def read_native_model(text: str) -> str:
    """Return a provider's name for a model. Raises ValidationError for `native_model`."""
    text = text.strip()
    if not text or len(text) > NATIVE_CHARS or not is_visible(text):
        raise ValidationError({"native_model": f"Enter 1 to {NATIVE_CHARS} visible characters."})
    return text


def read_prices(
    *,
    input_pusd: int,
    output_pusd: int,
    cached_input_pusd: int | None = None,
    unit_prices: UnitPrices | None = None,
) -> dict[str, int | None]:
    """Return all prices by their columns, as set_prices takes them. Raises ValidationError."""
    prices: dict[str, int | None] = {}
    with raising_all() as gather:
        with gather():
            prices |= _read_token_prices(input_pusd, cached_input_pusd, output_pusd)
        with gather():
            prices |= _read_unit_prices(unit_prices or {})
    return prices


def _read_token_prices(
    input_pusd: int, cached_pusd: int | None, output_pusd: int
) -> dict[str, int]:
    given = {"input_pusd_per_token": input_pusd, "output_pusd_per_token": output_pusd}
    if cached_pusd is not None:
        given["cached_input_pusd_per_token"] = cached_pusd
    errors = {
        name: "The price must be between 0 and 1,000,000 USD per million tokens."
        for name, price in given.items()
        if not 0 <= price <= MAX_PUSD_PER_TOKEN
    }
    if errors:
        raise ValidationError(errors)
    return {"cached_input_pusd_per_token": input_pusd} | given


def _read_unit_prices(given: UnitPrices) -> dict[str, int | None]:
    """Return the prices by their columns. Raises ValidationError for those that cannot be taken."""
    prices: dict[str, int | None] = {}
    errors: dict[str, str] = {}
    priced = {unit.name: unit for unit in other_units() if unit.price_column}
    for name, pusd in given.items():
        unit = priced.get(name)
        if unit is None:
            raise ValidationError(
                f"{name[:40]} cannot have a price. Use one of {', '.join(priced)}."
            )
        most = MAX_PUSD_PER_TOKEN if unit.noun == "tokens" else MAX_PUSD_PER_STEP
        if pusd is not None and not 0 <= pusd <= most:
            highest = most // unit.pusd_per_shown_usd
            errors[unit.price_column] = (
                f"The price must be between 0 and {highest:,} USD per {unit.price_noun}."
            )
        prices[unit.price_column] = pusd
    if errors:
        raise ValidationError(errors)
    return prices


def check_new_model(model: LanguageModel) -> None:
    """Raise ValidationError for all that cannot be taken but the prices."""
    is_named = _NAME.fullmatch(model.name) is not None
    but = _PRICE_FIELDS if is_named else ("name", *_PRICE_FIELDS)
    with raising_all() as gather:
        with gather():
            if not is_named:
                raise ValidationError({"name": NAMES_ARE})
        with gather():
            check_model(model, but=but)


def check_model(model: LanguageModel, but: Sequence[str] = ()) -> None:
    """Raise ValidationError for the model's own fields that cannot be taken. but: fields that are
    not looked at."""
    with raising_all() as gather:
        for check in (_check_plain, _check_aliases, _check_fallbacks):
            with gather():
                check(model)
        with gather():
            check_default_params(model.default_params)
        with gather():
            check_prompt(model.template_render_mode, model.default_system_prompt)
        with gather():
            model.full_clean(exclude={*but, *gather.errors})


def _check_plain(model: LanguageModel) -> None:
    errors: dict[str, str] = {}
    for field in ("context_tokens", "max_output_tokens"):
        tokens = getattr(model, field)
        if tokens is not None and not 1 <= tokens <= MAX_TOKENS:
            errors[field] = f"Enter 1 to {MAX_TOKENS} tokens."
    for field in ("display_name", "owned_by"):
        if not is_visible(getattr(model, field)):
            errors[field] = "Control characters are not allowed."
    if len(model.description) > DESCRIPTION_CHARS or "\0" in model.description:
        errors["description"] = f"At most {DESCRIPTION_CHARS} characters."
    if model.operation and model.operation not in OPERATIONS:
        errors["operation"] = f"Choose one of {', '.join(OPERATIONS)}."
    if errors:
        raise ValidationError(errors)


def _check_aliases(model: LanguageModel) -> None:
    """Raise ValidationError unless each name of the model means no other model."""
    aliases = model.aliases
    if not all(_NAME.fullmatch(name) for name in aliases):
        raise ValidationError({"aliases": NAMES_ARE})
    if len(aliases) > MAX_ALIASES or len({model.name, *aliases}) <= len(aliases):
        raise ValidationError({"aliases": f"Enter at most {MAX_ALIASES} names, each once."})
    for name, others in LanguageModel.objects.exclude(pk=model.pk).values_list("name", "aliases"):
        if taken := {name, *others}.intersection(aliases):
            raise ValidationError({"aliases": f"{taken.pop()} is already a name of {name}."})
        if model.name in others:
            raise ValidationError({"name": f"{model.name} is already a name of {name}."})


def _check_fallbacks(model: LanguageModel) -> None:
    """Raise ValidationError unless each is the name of another model."""
    names = model.fallbacks
    if model.name in names:
        raise ValidationError({"fallbacks": "A model cannot fall back to itself."})
    if len(names) > MAX_FALLBACKS or len(set(names)) < len(names):
        raise ValidationError(
            {"fallbacks": f"Choose at most {MAX_FALLBACKS} other models, each once."}
        )
    known = LanguageModel.objects.filter(name__in=names).values_list("name", flat=True)
    if unknown := set(names).difference(known):
        raise ValidationError({"fallbacks": f"The model {min(unknown)[:60]} does not exist."})


def _record(
    model: LanguageModel, *, actor: str, action: str, details: Mapping[str, object]
) -> None:
    record_change(ConfigChange.Kind.CATALOGUE)
    record_audit(actor=actor, action=action, target=model.name, details=details)
