"""Workspaces, people, and the ledger. State and constraints; writing is in services.

All money is integer nano-USD (1 USD = 1_000_000_000 nUSD). See docs/adr/0005.
"""

from __future__ import annotations

from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models
from django.db.models import F, Q

from accounts.ids import new_id


class UserManager(BaseUserManager["User"]):
    """Creates users, who are identified by their email."""

    def create_user(self, email: str, password: str | None = None, **fields: object) -> User:
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user


class User(AbstractBaseUser):
    """A person who signs in to the dashboard. Operators run the installation."""

    email = models.EmailField(unique=True)
    name = models.CharField(max_length=120, blank=True)
    is_active = models.BooleanField(default=True)
    is_operator = models.BooleanField(default=False)
    date_joined = models.DateTimeField(auto_now_add=True)

    objects = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    def __str__(self) -> str:
        return self.email


class LimitedCalls(models.Model):
    """Limits on calls. null: no limit."""

    max_requests_per_minute = models.PositiveIntegerField(null=True, blank=True)
    burst = models.PositiveIntegerField(
        null=True, blank=True, help_text="Requests at once; null: the number per minute."
    )
    max_concurrent = models.PositiveIntegerField(
        null=True, blank=True, help_text="Concurrent requests; further ones wait in a queue."
    )

    class Meta:
        abstract = True


class LimitedSpending(models.Model):
    """Budgets. null: no limit. Days, weeks and months begin in the workspace's time zone."""

    daily_limit_nusd = models.BigIntegerField(null=True, blank=True)
    weekly_limit_nusd = models.BigIntegerField(null=True, blank=True)
    monthly_limit_nusd = models.BigIntegerField(null=True, blank=True)
    total_limit_nusd = models.BigIntegerField(null=True, blank=True)

    class Meta:
        abstract = True


class BudgetHolder(LimitedSpending):
    """Who spends under budgets of their own: a key, a member, a workspace."""

    total_baseline_nusd = models.BigIntegerField(
        default=0, help_text="Spending when the total was last reset."
    )
    budget_raises = models.JSONField(
        default=list, help_text="keys.raises.Raise as JSON, each: more for a while."
    )

    class Meta:
        abstract = True


class Workspace(LimitedCalls, BudgetHolder):
    """Who pays. Everything a caller or a member can see belongs to exactly one workspace."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    name = models.CharField(max_length=80)
    slug = models.SlugField(max_length=80, unique=True)
    locked_at = models.DateTimeField(null=True, blank=True)
    locked_reason = models.CharField(max_length=200, blank=True)
    stores_bodies = models.BooleanField(default=False)
    compat_profile = models.CharField(
        max_length=20, blank=True, help_text="Of keys without their own; empty: the installation's."
    )
    timezone = models.CharField(
        max_length=64, default="UTC", help_text="In which days, weeks and months of budgets begin."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    members: models.ManyToManyField[User, Membership] = models.ManyToManyField(
        User, through="Membership", related_name="workspaces"
    )

    class Meta:
        ordering: ClassVar[list[str]] = ["name", "id"]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["name", "id"], name="accounts_workspace_by_name"),
        ]

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    """What a member may do; the permission rules are accounts.permissions."""

    OWNER = "owner"
    ADMIN = "admin"
    DEVELOPER = "developer"
    BILLING = "billing"
    VIEWER = "viewer"


class Membership(BudgetHolder):
    """The membership of a user in a workspace. Its budgets are those of the keys that the member
    made."""

    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=12, choices=Role.choices)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["workspace", "user"], name="accounts_membership_once_per_workspace"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.workspace} as {self.role}"


class Invitation(models.Model):
    """A pending invitation. It is deleted when it is accepted or revoked.

    Its code can be used once. Like the secret of a key, the code has 256 random bits and only its
    SHA-256 digest is stored (docs/adr/0030).
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.CASCADE, related_name="invitations")
    email = models.EmailField()
    role = models.CharField(max_length=12, choices=Role.choices)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    invited_by = models.CharField(max_length=254, help_text="The actor, as in the audit log.")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["workspace", "email"], name="accounts_invitation_one_per_address"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.email} invited to {self.workspace} as {self.role}"


class Wallet(models.Model):
    """A workspace's money.

    posted_nusd: the sum of the wallet's ledger entries.
    drawn_nusd: the sum of its purses, that is what server processes may spend.
    sequence: how many ledger entries there are; the number of the newest.
    """

    workspace = models.OneToOneField(
        Workspace, on_delete=models.PROTECT, primary_key=True, related_name="wallet"
    )
    posted_nusd = models.BigIntegerField(default=0)
    drawn_nusd = models.BigIntegerField(default=0)
    sequence = models.BigIntegerField(default=0)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.CheckConstraint(
                condition=Q(drawn_nusd__gte=0), name="accounts_wallet_drawn_not_negative"
            ),
            models.CheckConstraint(
                condition=Q(posted_nusd__gte=F("drawn_nusd")),
                name="accounts_wallet_never_below_zero",
            ),
        ]

    def __str__(self) -> str:
        return f"wallet of {self.workspace_id}"


class LedgerEntry(models.Model):
    """One movement of a wallet's money. Rows are only ever inserted.

    source: what caused it, unique with kind, so that nothing is posted twice
    (`grant:<uuid>`, `drain:<process>:<segment>:<offset>:<key>`).
    """

    class Kind(models.TextChoices):
        TOP_UP = "topup", "Top-up"
        GRANT = "grant", "Grant"
        USAGE = "usage", "Usage"
        ADJUSTMENT = "adjustment", "Adjustment"
        REFUND = "refund", "Refund"

    wallet = models.ForeignKey(Wallet, on_delete=models.PROTECT, related_name="entries")
    sequence = models.BigIntegerField()
    kind = models.CharField(max_length=12, choices=Kind.choices)
    amount_nusd = models.BigIntegerField(help_text="Signed: usage is negative.")
    balance_nusd = models.BigIntegerField(help_text="posted_nusd after this entry.")
    source = models.CharField(max_length=160)
    key_id = models.UUIDField(null=True, blank=True, help_text="For usage: the key.")
    calls = models.PositiveIntegerField(default=0, help_text="For usage: the number of calls.")
    actor = models.CharField(max_length=254, blank=True, help_text="For other kinds: who made it.")
    reason = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["wallet", "sequence"], name="accounts_ledgerentry_sequence_once"
            ),
            models.UniqueConstraint(
                fields=["source", "kind"], name="accounts_ledgerentry_posted_once"
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            # Usage is nearly all of it: what people did must be found without walking over that.
            models.Index(
                fields=["wallet", "sequence"],
                name="accounts_ledger_not_usage",
                condition=~Q(kind="usage"),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.amount_nusd} nUSD"


class LedgerDay(models.Model):
    """What one key used on one day (UTC), summed from the ledger; accounts.ledger_days adds to it.

    balance_nusd: after the last of the entries. Complete up to LedgerMark.sequence of the wallet.
    """

    wallet = models.ForeignKey(Wallet, on_delete=models.PROTECT, related_name="days")
    day = models.DateField()
    key_id = models.UUIDField()
    entries = models.BigIntegerField()
    calls = models.BigIntegerField()
    amount_nusd = models.BigIntegerField(help_text="Signed: usage is negative.")
    balance_nusd = models.BigIntegerField()
    first_sequence = models.BigIntegerField()
    last_sequence = models.BigIntegerField()

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["wallet", "day", "key_id"], name="accounts_ledgerday_one_row_per_key"
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["wallet", "last_sequence"], name="accounts_ledgerday_in_order"),
        ]

    def __str__(self) -> str:
        return f"{self.day}: {self.amount_nusd} nUSD of {self.key_id}"


class LedgerMark(models.Model):
    """Up to which entry of a wallet the rows of LedgerDay are complete."""

    wallet = models.OneToOneField(
        Wallet, on_delete=models.PROTECT, primary_key=True, related_name="mark"
    )
    sequence = models.BigIntegerField(default=0)

    def __str__(self) -> str:
        return f"wallet of {self.wallet_id}: up to {self.sequence}"


class Purse(models.Model):
    """The part of a wallet that one server process may spend without asking the database."""

    wallet = models.ForeignKey(Wallet, on_delete=models.PROTECT, related_name="purses")
    process_id = models.UUIDField(help_text="A gateway.ServingProcess, without a foreign key.")
    amount_nusd = models.BigIntegerField(default=0)

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["wallet", "process_id"], name="accounts_purse_one_per_process"
            ),
            models.CheckConstraint(
                condition=Q(amount_nusd__gte=0), name="accounts_purse_not_negative"
            ),
        ]

    def __str__(self) -> str:
        return f"purse of {self.process_id}: {self.amount_nusd} nUSD"


class ConfigChange(models.Model):
    """A row of the change feed: configuration changed that server processes have in memory.

    Written by services in the transaction that makes the change; read by every server
    process (docs/adr/0003).
    """

    class Kind(models.TextChoices):
        CATALOGUE = "catalogue"  # models, targets, prices, providers: recompile the snapshot
        KEY = "key"  # ref: the key's digest
        WORKSPACE = "workspace"  # ref: the workspace's id in hex; its keys' records are stale
        WALLET = "wallet"  # ref: the workspace's id in hex; there may be more to spend
        # ref: its owner's id in hex, or empty for all; what was spent of it is something else
        BUDGET = "budget"
        # ref: the id in hex of a workspace, or of the owner of a budget; return what you have idle
        RECALL = "recall"
        # ref: the workspace's id in hex, or empty for all; other server tools or prices
        TOOLS = "tools"

    kind = models.CharField(max_length=12, choices=Kind.choices)
    ref = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.kind} {self.ref}"


class SignInTries(models.Model):
    """Passwords tried from one subnet, at one account or at all (accounts.sign_in_throttle)."""

    subnet = models.CharField(max_length=64)
    account = models.CharField(
        max_length=64, blank=True, help_text="SHA-256 of what was typed; empty: all accounts."
    )
    failed = models.PositiveIntegerField(default=0, help_text="Tries without a success.")
    last_at = models.DateTimeField(db_index=True, help_text="The last try.")

    class Meta:
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["subnet", "account"], name="accounts_signintries_one_each"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.failed} tries from {self.subnet}"


class AuditEvent(models.Model):
    """Who changed what, append-only. Never holds a secret."""

    workspace = models.ForeignKey(
        Workspace, on_delete=models.PROTECT, null=True, blank=True, related_name="audit_events"
    )
    actor = models.CharField(max_length=254)
    action = models.CharField(max_length=60)
    target = models.CharField(max_length=200)
    details = models.JSONField(default=dict)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["workspace", "-id"], name="accounts_audit_by_workspace"),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.action} {self.target}"
