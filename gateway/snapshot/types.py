"""The compiled catalogue and the compiled key (docs/adr/0003).

The snapshot holds the catalogue only; keys can be a million, so each is compiled on first use
and kept in admission.keyring.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network
from types import MappingProxyType
from typing import NamedTuple

from gateway.core.budget_owner import BudgetOwner
from gateway.core.calendar import UTC_NAME
from gateway.core.egress import HostRules
from gateway.core.money import Price, highest
from gateway.core.name_patterns import NamePatterns
from gateway.core.processor_rules import ProcessorRules
from gateway.core.provider_connection import ConnectionSettings
from gateway.core.spent import Spent
from gateway.snapshot.credential import CredentialRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetRecord:
    """One model at one provider. Secrets stay out of repr.

    model: the public name that it serves. default_params: members, as raw JSON, that go upstream
    where the caller does not say. operation: the only one that it is asked for, empty for any.
    """

    model: str
    provider: str
    kind: str
    base_url: str
    native_model: str
    price: Price
    default_params: tuple[tuple[str, bytes], ...] = ()
    structured_dialect: str = "structured_outputs"
    operation: str = ""
    is_local: bool = False
    location: str = ""
    # What the provider is shown. Where there are `credentials`, that of the one that was chosen.
    secret: str = field(default="", repr=False)
    # The name of the credential that it is; empty where the provider has no other.
    credential: str = ""
    # To choose from for each attempt (gateway.providers.credentials). Empty where `secret` says it.
    credentials: tuple[CredentialRecord, ...] = ()
    chosen: CredentialRecord | None = None
    # That calls may bring another one: its name here, and the name by which they do.
    call_credential: tuple[str, str] | None = None
    # None: by our own connections.
    connection: ConnectionSettings | None = None
    # Region, project and the like: those that the kind declares, defaults included.
    settings: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def has_choice(self) -> bool:
        """True when the credential is chosen for each attempt."""
        return bool(self.credentials) or self.call_credential is not None


@dataclass(frozen=True, slots=True)
class PromptRecord:
    """What becomes of system prompts: mode is off, vars or logic (gateway.prompts); text is the
    model's own, empty where it has none."""

    mode: str
    text: str


@dataclass(frozen=True, kw_only=True)
class ModelRecord:
    """A public model. unknown_fields is forward, drop or reject. supports: abilities (vision,
    audio, pdf, tools) that it has or lacks; None where nobody has said. operation: the only one it
    is for, empty where nobody has said. fallbacks: names of the models that serve its calls when it
    cannot. prompt: None where callers' messages go upstream as they are."""

    name: str
    display_name: str
    description: str
    owned_by: str
    created: int
    price: Price
    context_tokens: int | None
    max_output_tokens: int
    unknown_fields: str
    targets: tuple[TargetRecord, ...]
    supports: Mapping[str, bool | None] = field(default_factory=dict)
    operation: str = ""
    fallbacks: tuple[str, ...] = ()
    prompt: PromptRecord | None = None

    # Each is worked out once: every call to the model asks for it.

    @cached_property
    def has_choice(self) -> bool:
        """True when a target's credential is chosen for each attempt."""
        return any(target.has_choice for target in self.targets)

    @cached_property
    def has_local(self) -> bool:
        """True when a provider on premises serves the model."""
        return any(target.is_local for target in self.targets)

    @cached_property
    def target_kinds(self) -> tuple[str, ...]:
        """The kinds of provider that serve the model."""
        return tuple(target.kind for target in self.targets)

    @cached_property
    def max_prompt_pusd(self) -> int:
        """The most that a prompt token can cost."""
        return self.max_price.highest_of("prompt")

    @cached_property
    def max_completion_pusd(self) -> int:
        """The most that a completion token can cost."""
        return self.max_price.highest_of("completion")

    @cached_property
    def search_pusd(self) -> int:
        """What a search costs at most that the model makes before it answers; 0 for most models."""
        return self.max_price.of("search")

    @cached_property
    def max_price(self) -> Price:
        """The highest of each rate over the model's targets: what a hold must cover."""
        return highest([target.price for target in self.targets] or [self.price])

    def can(self, ability: str) -> bool:
        """True when callers may ask this of the model: what /v1/models says, and admission does.

        Where nobody has said, images, sounds and tools go to the provider, who may refuse them;
        PDF files become text, which every model reads.
        """
        said = self.supports.get(ability)
        return ability != "pdf" if said is None else said


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The catalogue at one moment. version is the id of the newest ConfigChange it includes.

    models: every enabled one, with targets or without: a call to one without is not served now.
    aliases: other names, each with the name it stands for. shorthands, passthroughs: names
    that begin with a provider's kind (kind::its-model) or name (provider/its-model), each with the
    model that this is here, served by that target alone. rules: the limit rules of the
    installation. model_rules: those of models, by name; models without any are not there.
    """

    version: int = 0
    models: Mapping[str, ModelRecord] = field(default_factory=lambda: MappingProxyType({}))
    aliases: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    shorthands: Mapping[str, ModelRecord] = field(default_factory=lambda: MappingProxyType({}))
    passthroughs: Mapping[str, ModelRecord] = field(default_factory=lambda: MappingProxyType({}))
    _: KW_ONLY
    rules: tuple[LimitRule, ...] = ()
    model_rules: Mapping[str, tuple[LimitRule, ...]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    _joined_rules: dict[str, tuple[LimitRule, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def find(self, name: str) -> ModelRecord | None:
        """Return the model that has the name, as its own or beside it."""
        return self.models.get(name) or self.models.get(self.aliases.get(name, ""))

    def rules_of(self, model: str) -> tuple[LimitRule, ...]:
        """Return the rules of the installation and of the model."""
        if model not in self.model_rules:
            return self.rules
        # Kept, because calls under the same rules are planned once.
        found = self._joined_rules.get(model)
        if found is None:
            found = self._joined_rules[model] = self.rules + self.model_rules[model]
        return found

    def templates(self) -> set[str]:
        """Return the prompts that are programs (mode logic)."""
        prompts = (model.prompt for model in self.models.values())
        return {prompt.text for prompt in prompts if prompt and prompt.mode == "logic"}

    def connections(self) -> set[ConnectionSettings]:
        """Return how providers are reached that our own connections do not reach."""
        targets = (target for model in self.models.values() for target in model.targets)
        return {target.connection for target in targets if target.connection is not None}

    def credentials(self) -> tuple[CredentialRecord, ...]:
        """Return all credentials that are chosen from."""
        targets = (target for model in self.models.values() for target in model.targets)
        found = {each.credential_id: each for target in targets for each in target.credentials}
        return tuple(found.values())

    def offered(self) -> dict[str, ModelRecord]:
        """Return the models that somebody serves: those to tell callers of."""
        return {name: model for name, model in self.models.items() if model.targets}


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitRule:
    """A limit rule as calls are counted by it: what, for whom, and how many in which time."""

    # Of its row. One row can count for each of many owners: a counter is (rule_id, owner).
    rule_id: str
    # installation, model, workspace, member or key.
    level: str
    # Nobody for the installation (empty); the name of the model; the id of the workspace, of the
    # user whose keys they are, or of the key.
    owner: str
    # requests, tokens, prompt_tokens, completion_tokens, cost_micro_usd or concurrent_requests.
    metric: str
    # In the metric's unit; cost_micro_usd in nano-USD all the same.
    maximum: int
    # second, minute, hour, day, week or month. Empty for what is counted at a time or per request.
    period: str = ""
    # rolling, fixed_window, sliding_window or token_bucket. Empty where there is no period.
    algorithm: str = ""
    # Of a token_bucket: how much it holds. 0 for the others.
    burst: int = 0
    # The maximum is for each request, and nothing is counted.
    per_request: bool = False
    # Only calls to these models are counted; None: all.
    models: NamePatterns | None = None
    # In which fixed windows of a day and more begin: at midnight, weeks on Monday.
    timezone: str = "UTC"


class CallLimits(NamedTuple):
    """How many calls a minute, how many of them at once (burst), and how many may run at a time
    (at_once); None for no limit."""

    per_minute: int | None = None
    burst: int = 0
    at_once: int | None = None


NO_CALL_LIMITS = CallLimits()


class LimitRaise(NamedTuple):
    """How much more than its limit may be spent of a period, until a moment in seconds since the
    epoch."""

    period: str
    amount_nusd: int
    until: float


@dataclass(frozen=True, slots=True)
class SpendingLimits:
    """Nano-USD a day, a week, a month and in total; None for no limit."""

    owner: BudgetOwner
    _: KW_ONLY
    daily_nusd: int | None = None
    weekly_nusd: int | None = None
    monthly_nusd: int | None = None
    total_nusd: int | None = None
    # What the owner had spent when the total was last reset.
    total_baseline_nusd: int = 0
    # In which days, weeks and months begin.
    timezone: str = UTC_NAME
    raises: tuple[LimitRaise, ...] = ()

    def by_period(self, spent: Spent, now: float) -> tuple[tuple[str, int | None, int], ...]:
        """Return each period with the limit that applies now and with what was spent of that."""
        since_reset_nusd = spent.total_nusd - self.total_baseline_nusd
        found = (
            ("day", self.daily_nusd, spent.day_nusd),
            ("week", self.weekly_nusd, spent.week_nusd),
            ("month", self.monthly_nusd, spent.month_nusd),
            ("total", self.total_nusd, since_reset_nusd),
        )
        if not self.raises:
            return found
        return tuple(
            (period, limit and limit + self._raised(period, now), spent_nusd)
            for period, limit, spent_nusd in found
        )

    def falls_at(self, now: float) -> float:
        """Return when the next raise ends, 0.0 where none is in force."""
        return min((one.until for one in self.raises if now < one.until), default=0.0)

    def _raised(self, period: str, now: float) -> int:
        return sum(
            one.amount_nusd for one in self.raises if one.period == period and now < one.until
        )


class KeyLimits(NamedTuple):
    """Every limit that calls of a key are under."""

    of_key: CallLimits
    of_workspace: CallLimits
    # Those of the workspace, the member and the key that have any, in this order; None: no one has.
    of_spending: tuple[SpendingLimits, ...] | None
    # Of the workspace, then of the member whose key it is, then of the key.
    rules: tuple[LimitRule, ...] = ()

    @property
    def are_rules(self) -> bool:
        """True when there are none but rules."""
        return (
            self.of_spending is None
            and self.of_key == NO_CALL_LIMITS
            and self.of_workspace == NO_CALL_LIMITS
        )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AddressRules:
    """Where a key may be used from. An address that is denied is refused whatever allows it."""

    # The lists of the workspace and of the key, where they have one: each must have the address.
    allowed: tuple[tuple[IPv4Network | IPv6Network, ...], ...] = ()
    denied: tuple[IPv4Network | IPv6Network, ...] = ()


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ModelRules:
    """Which models a key may use. A model that is denied is refused whatever allows it."""

    # The lists of the workspace and of the key, where they have one: each must match the name.
    allowed: tuple[NamePatterns, ...] = ()
    denied: tuple[NamePatterns, ...] = ()

    def allow(self, model: str) -> bool:
        for level in self.allowed:
            if not level.match(model):
                return False
        return not (self.denied and any(level.match(model) for level in self.denied))


class CountryRules(NamedTuple):
    """Codes of countries; allowed: None for any."""

    allowed: frozenset[str] | None
    denied: frozenset[str]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CallerRules:
    """What callers of a workspace may be: None for anything."""

    # In lower case.
    denied_user_agents: NamePatterns | None = None
    countries: CountryRules | None = None


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class KeyRecord:
    """A key as admission sees it, with what it needs of its workspace. Equal to itself alone.

    models, addresses, callers: the rules of the key and its workspace; None where there are none.
    expires_at: seconds since the epoch, or None. profile: the compatibility profile of the key
    or its workspace, empty for the installation's. limits: None when there are none. refused_until:
    seconds since the epoch; calls are refused before (docs/adr/0034). 0: they are not.
    """

    key_id: str
    digest: str
    workspace_id: str
    # Those in effect. lost_scopes: others of the key, which its owner may not give any more.
    scopes: frozenset[str]
    expires_at: float | None
    revoked: bool
    workspace_locked: bool
    stores_bodies: bool
    lost_scopes: frozenset[str] = frozenset()
    models: ModelRules | None = None
    addresses: AddressRules | None = None
    callers: CallerRules | None = None
    # Which hosts may be fetched from; None: any.
    hosts: HostRules | None = None
    profile: str = ""
    may_override_profile: bool = True
    may_use_chat_template: bool = False
    workspace_name: str = ""
    limits: KeyLimits | None = None
    # The id of the member's budget (gateway.core.budget_owner); empty for a service key.
    member: str = ""
    refused_until: float = 0.0
    # Of the workspace and the key; None where there are none.
    processors: ProcessorRules | None = None
    # The workspace has tools that calls have without naming them (gateway.tools.choose).
    has_default_tools: bool = False

    @property
    def rules(self) -> tuple[LimitRule, ...]:
        """The limit rules of the workspace, the member and the key."""
        return () if self.limits is None else self.limits.rules

    def may_use(self, model: str) -> bool:
        return self.models is None or self.models.allow(model)
