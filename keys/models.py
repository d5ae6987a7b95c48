"""API keys. State, constraints and questions; writing is in services."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone

from accounts.ids import new_id
from accounts.models import (
    BudgetHolder,
    LimitedCalls,
    LimitedSpending,
    Membership,
    User,
    Workspace,
)


class Scope(models.TextChoices):
    """What a key may be used for (gateway contract, section 5.2)."""

    COMPLETIONS = "completions"
    USAGE = "usage"
    USAGE_WORKSPACE = "usage.workspace"
    FILES = "files"
    PII = "pii"
    LANGUAGE = "language"
    ADMIN = "admin"


class CompatProfile(models.TextChoices):
    """Products whose clients a key may serve; rows of gateway.core.profiles."""

    UNIFIED = "unified", "Tollhouse"
    INFERADA = "inferada", "Inferada"
    BUD = "bud", "Bud"
    INFERY = "infery", "Infery"
    HYPERINFER = "hyperinfer", "HyperInfer"
    INFEREXCHANGE = "inferexchange", "InferExchange"


def default_scopes() -> list[str]:
    return [Scope.COMPLETIONS.value, Scope.USAGE.value]


class KeyQuerySet(models.QuerySet["ApiKey"]):
    """Reusable questions about keys. Filters only; writes live in keys.services."""

    def usable(self) -> KeyQuerySet:
        """Return keys that may be admitted right now: not revoked, not past expiry."""
        not_expired = Q(expires_at=None) | Q(expires_at__gt=timezone.now())
        return self.filter(not_expired, revoked_at=None)


class LimitedAccess(models.Model):
    """Which models may be used, and from where. What is denied is refused whatever allows it."""

    allowed_models = models.JSONField(
        default=list, help_text="Model names, with * for any characters; empty means all."
    )
    denied_models = models.JSONField(default=list, help_text="Model names, as above.")
    allowed_ips = models.JSONField(
        null=True, blank=True, help_text="CIDR networks; null means any address, [] means none."
    )
    denied_ips = models.JSONField(default=list, help_text="CIDR networks.")

    class Meta:
        abstract = True


class ApiKey(LimitedCalls, BudgetHolder, LimitedAccess):
    """A bearer credential issued to one workspace.

    The secret is shown once, at creation. We keep its SHA-256 digest, which is enough because
    the secret carries 256 random bits; a slow password hash would only tax the hot path
    (docs/adr/0006). A secret that was issued elsewhere must be long and random, too
    (docs/adr/0039).
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="keys")
    label = models.CharField(max_length=80)
    prefix = models.CharField(max_length=24, blank=True, help_text="Start of the secret.")
    hint = models.CharField(max_length=4, blank=True, help_text="Last characters of the secret.")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    is_imported = models.BooleanField(
        default=False, help_text="Issued elsewhere. Without a hint if imported by digest."
    )
    scopes = models.JSONField(default=default_scopes)
    granted_scopes = models.JSONField(
        default=list,
        help_text="Of the scopes: those its owner could not assign, assigned by an owner or admin.",
    )
    compat_profile = models.CharField(
        max_length=20, blank=True, help_text="Empty means the workspace's."
    )
    allows_profile_override = models.BooleanField(default=True)
    allows_chat_template = models.BooleanField(default=False)
    refused_until = models.DateTimeField(
        null=True,
        blank=True,
        help_text="Calls are refused until then: they cost more than the balance.",
    )
    expires_at = models.DateTimeField(null=True, blank=True)
    rotated_at = models.DateTimeField(
        null=True, blank=True, help_text="When it got the secret that it has; null: at creation."
    )
    revoked_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = KeyQuerySet.as_manager()

    class Meta:
        ordering: ClassVar[list[str]] = ["-id"]

    def __str__(self) -> str:
        return f"{self.label} ({self.shown_secret})"

    @property
    def shown_secret(self) -> str:
        """Start and end of the secret, by which people recognise it."""
        return f"{self.prefix}…{self.hint}" if self.hint else f"SHA-256 {self.digest[:8]}…"

    @property
    def old_secrets(self) -> list[RetiredSecret]:
        """Secrets from before it was rotated that still work; the newest first."""
        working = self.retired_secrets.filter(ends_at__gt=timezone.now())
        return list(working.order_by("-pk")) if self.rotated_at else []

    @property
    def digests(self) -> list[str]:
        """The digests of its secrets that work: what the change feed names it by."""
        return [self.digest, *(retired.digest for retired in self.old_secrets)]

    @property
    def profile_words(self) -> str:
        """The product whose clients the key serves, empty when that is the workspace's."""
        return str(dict(CompatProfile.choices).get(self.compat_profile, self.compat_profile))

    @property
    def is_refused(self) -> bool:
        """True while its calls are refused because they cost more than the balance had."""
        return self.refused_until is not None and self.refused_until > timezone.now()

    @property
    def is_usable(self) -> bool:
        """True while the key may be admitted. Mirrors KeyQuerySet.usable for one row."""
        if self.revoked_at is not None:
            return False
        return self.expires_at is None or self.expires_at > timezone.now()


class RetiredSecret(models.Model):
    """A secret that a key had before it was rotated, and that works beside the new one for a while.

    Calls with it are calls of the key: the same limits, the same spending.
    """

    key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, related_name="retired_secrets")
    digest = models.CharField(max_length=64, unique=True, editable=False)
    shown = models.CharField(max_length=40, help_text="ApiKey.shown_secret of it.")
    ends_at = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.shown} of {self.key_id}"


class DeveloperKeyPolicy(LimitedCalls, LimitedSpending):
    """The maximum for keys that developers create in a workspace. No row: no maximum."""

    workspace = models.OneToOneField(
        Workspace, on_delete=models.CASCADE, primary_key=True, related_name="developer_key_policy"
    )
    max_keys = models.PositiveIntegerField(
        null=True, blank=True, help_text="Maximum number of keys per developer; null: no limit."
    )
    scopes = models.JSONField(
        null=True, blank=True, help_text="null means all that developers can assign."
    )
    allowed_models = models.JSONField(
        default=list, help_text="Model names, with * for any characters; empty means all."
    )
    allowed_ips = models.JSONField(
        null=True, blank=True, help_text="CIDR networks; null means any address."
    )
    allows_chat_template = models.BooleanField(default=True)

    def __str__(self) -> str:
        return f"developers' keys of {self.workspace_id}"


class AccessRules(LimitedAccess):
    """What all keys of one workspace are under besides their own rules. No row: nothing."""

    workspace = models.OneToOneField(
        Workspace, on_delete=models.CASCADE, primary_key=True, related_name="access_rules"
    )
    denied_user_agents = models.JSONField(
        default=list, help_text="A part of the header, or all of it where there is a *."
    )
    allowed_countries = models.JSONField(
        default=list, help_text="ISO 3166 codes, XX for unknown; empty means all."
    )
    denied_countries = models.JSONField(default=list, help_text="ISO 3166 codes, as above.")
    # As gateway.core.egress.HostRules has them.
    allowed_hosts = models.JSONField(
        default=list, help_text="Hosts that may be fetched from; empty means all."
    )
    denied_hosts = models.JSONField(default=list, help_text="Hosts that may not, as above.")
    max_key_days = models.PositiveIntegerField(
        null=True, blank=True, help_text="How long a secret may work at most; null: no limit."
    )

    def __str__(self) -> str:
        return f"access rules of {self.workspace_id}"


class LimitRule(models.Model):
    """A limit on calls: of the installation, a model, a workspace, its members or its keys.

    Calls have to pass all rules that they are under, besides the columns of LimitedCalls and
    LimitedSpending (docs/limits.md).
    """

    class Level(models.TextChoices):
        """What a rule counts for, in the order in which a refusal names it."""

        INSTALLATION = "installation"
        MODEL = "model"
        WORKSPACE = "workspace"
        MEMBER = "member"
        KEY = "key"

    class Metric(models.TextChoices):
        REQUESTS = "requests"
        TOKENS = "tokens"
        PROMPT_TOKENS = "prompt_tokens"
        COMPLETION_TOKENS = "completion_tokens"
        COST = "cost_micro_usd", "Cost"
        CONCURRENT_REQUESTS = "concurrent_requests"

    class Period(models.TextChoices):
        SECOND = "second"
        MINUTE = "minute"
        HOUR = "hour"
        DAY = "day"
        WEEK = "week"
        MONTH = "month"

    class Algorithm(models.TextChoices):
        ROLLING = "rolling"
        FIXED_WINDOW = "fixed_window"
        SLIDING_WINDOW = "sliding_window"
        TOKEN_BUCKET = "token_bucket"  # noqa: S105 - an algorithm

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    level = models.CharField(max_length=12, choices=Level.choices)
    workspace = models.ForeignKey(
        Workspace, on_delete=models.CASCADE, null=True, blank=True, related_name="limit_rules"
    )
    membership = models.ForeignKey(
        Membership,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="limit_rules",
        help_text="At the level of members: whose keys; null: each member's.",
    )
    key = models.ForeignKey(
        ApiKey,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="limit_rules",
        help_text="At the level of keys: which; null: each.",
    )
    model = models.CharField(
        max_length=200, blank=True, help_text="At the level of models: the name of which."
    )
    label = models.CharField(max_length=80, blank=True)
    metric = models.CharField(max_length=20, choices=Metric.choices)
    maximum = models.BigIntegerField(help_text="In the metric's unit; cost in nano-USD.")
    period = models.CharField(
        max_length=8,
        choices=Period.choices,
        blank=True,
        help_text="Empty for concurrent requests and for what is per request.",
    )
    algorithm = models.CharField(
        max_length=16, choices=Algorithm.choices, blank=True, help_text="Empty without a period."
    )
    burst = models.BigIntegerField(
        null=True, blank=True, help_text="What a token bucket holds; null: the maximum."
    )
    per_request = models.BooleanField(
        default=False, help_text="The maximum is for each request; nothing is counted."
    )
    only_models = models.JSONField(
        default=list, help_text="Model names, with * for any characters; empty means all."
    )
    is_enabled = models.BooleanField(default=True)
    created_by = models.CharField(max_length=254, help_text="The actor, as in the audit log.")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering: ClassVar[list[str]] = ["id"]
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                name="keys_limitrule_has_what_its_level_needs",
                condition=Q(level="installation", workspace=None, model="")
                | (Q(level="model", workspace=None) & ~Q(model=""))
                | Q(level__in=("workspace", "member", "key"), workspace__isnull=False, model=""),
            ),
            models.CheckConstraint(
                name="keys_limitrule_one_holder",
                condition=(Q(membership=None) | Q(level="member")) & (Q(key=None) | Q(level="key")),
            ),
            models.CheckConstraint(
                name="keys_limitrule_period_where_counted",
                condition=(
                    (Q(per_request=True) | Q(metric="concurrent_requests"))
                    & Q(period="", algorithm="")
                )
                | (
                    Q(per_request=False)
                    & ~Q(metric="concurrent_requests")
                    & ~Q(period="")
                    & ~Q(algorithm="")
                ),
            ),
            models.CheckConstraint(
                name="keys_limitrule_per_request_of_sizes",
                condition=Q(per_request=False) | ~Q(metric__in=("requests", "concurrent_requests")),
            ),
            models.CheckConstraint(
                name="keys_limitrule_above_zero",
                condition=Q(maximum__gt=0)
                & (Q(burst=None) | Q(burst__gt=0, algorithm="token_bucket")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.metric} of {self.level}: at most {self.maximum}"


class KeyImport(models.Model):
    """Keys issued elsewhere that somebody was shown before they are imported. Never a secret.

    rows: keys.import_rows.ImportRow as JSON, each; none once they are imported.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="key_imports")
    person = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    rows = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)
    confirmed_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"import of {len(self.rows)} keys"
