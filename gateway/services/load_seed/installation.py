"""The operator, members, models, workspaces, wallets and keys of a load test."""

from __future__ import annotations

import random
import secrets
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from django.conf import settings
from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db import transaction
from django.db.models import Model

from accounts.models import AuditEvent, LedgerEntry, Membership, Role, User, Wallet, Workspace
from accounts.services import create_user
from gateway.core.money import PUSD_PER_NUSD
from gateway.providers.catalogue import SIMULATED
from gateway.selectors.id_times import first_id_at
from gateway.services.load_seed.plan import MODELS, LoadPlan
from gateway.services.models import add_model
from gateway.services.providers import add_provider
from keys.models import ApiKey, Scope
from keys.secret import KeptSecret, keep_secret, new_secret

ACTOR = "seed_load"
EMAIL = "operator@load.test"
PROVIDER = "load-test"
MEMBERS = 200  # of the first workspace
KNOWN_SECRETS = 100  # of the first keys of the first workspace
PER_STATEMENT = 1_000
SCOPES = [Scope.COMPLETIONS.value, Scope.USAGE.value]
FIRST_SCOPES = [*SCOPES, Scope.USAGE_WORKSPACE.value]
_VERSION_AND_VARIANT = (7 << 76) | (2 << 62)


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """What was made. keys: IDs by workspace, in the order of workspaces."""

    workspaces: list[uuid.UUID]
    keys: list[list[uuid.UUID]]
    email: str
    password: str
    slug: str
    secrets: list[str]


def version_7(at_ms: int, bits: int) -> int:
    """Return the number of a UUIDv7 of that moment. bits: 74 random ones."""
    high, low = bits >> 62, bits & (1 << 62) - 1
    return at_ms << 80 | _VERSION_AND_VARIANT | high << 64 | low


def install(plan: LoadPlan) -> Installation:
    """Make everything but the calls, in one transaction."""
    ids = _Ids(plan)
    with transaction.atomic():
        password = secrets.token_urlsafe(15)
        operator = create_user(email=EMAIL, password=password, is_operator=True, actor=ACTOR)
        _add_models()
        owners = _add_people("owner", plan.workspaces - 1)
        members = _add_people("member", MEMBERS)
        workspaces = _add_workspaces(plan, ids)
        _add_memberships(workspaces, [operator, *owners], members)
        known = [new_secret(settings.KEY_PREFIXES[0]) for _ in range(KNOWN_SECRETS)]
        keys = _Keys(ids, known, members)
        made = [
            keys.add(workspace, owner, count)
            for workspace, owner, count in zip(
                workspaces, [operator, *owners], plan.keys_by_workspace(), strict=True
            )
        ]
        keys.write()
    return Installation(
        workspaces=[workspace.pk for workspace in workspaces],
        keys=made,
        email=EMAIL,
        password=password,
        slug=workspaces[0].slug,
        secrets=known[: len(made[0])],
    )


class _Ids:
    """IDs of workspaces and keys, as if made one a millisecond before the first call."""

    def __init__(self, plan: LoadPlan) -> None:
        self._random = random.Random(plan.seed)  # noqa: S311 (not for secrets)
        first = first_id_at(plan.starts_at).int >> 80
        self._at_ms = first - plan.workspaces - plan.keys

    def next(self) -> uuid.UUID:
        self._at_ms += 1
        return uuid.UUID(int=version_7(self._at_ms, self._random.getrandbits(74)))

    def next_digest(self) -> str:
        """Return a digest that no known secret has."""
        return f"{self._random.getrandbits(256):064x}"


class _Keys:
    """Collects keys and their lines of the audit log, and writes them many at a time."""

    def __init__(self, ids: _Ids, known: list[str], members: list[User]) -> None:
        self._ids = ids
        self._known = iter(known)
        self._members = members
        self._keys: list[ApiKey] = []
        self._count = 0

    def add(self, workspace: Workspace, owner: User, count: int) -> list[uuid.UUID]:
        is_first = not self._count
        made = []
        for number in range(count):
            maker = self._members[number % MEMBERS] if is_first and number else owner
            made.append(self._add(workspace, maker, is_first=is_first and not number).pk)
        return made

    def _add(self, workspace: Workspace, maker: User, *, is_first: bool) -> ApiKey:
        self._count += 1
        secret, prefix = next(self._known, ""), settings.KEY_PREFIXES[0]
        kept = keep_secret(secret, prefix) if secret else self._unknown(prefix)
        key = ApiKey(
            id=self._ids.next(),
            workspace=workspace,
            label=f"Key {self._count:,}",
            created_by=maker,
            scopes=FIRST_SCOPES if is_first else SCOPES,
            **kept._asdict(),
        )
        self._keys.append(key)
        if len(self._keys) >= PER_STATEMENT:
            self.write()
        return key

    def _unknown(self, prefix: str) -> KeptSecret:
        digest = self._ids.next_digest()
        return KeptSecret(digest, prefix, digest[-4:])

    def write(self) -> None:
        """Write what was collected."""
        _write(self._keys)
        _write(
            AuditEvent(
                workspace_id=key.workspace_id,
                actor=ACTOR,
                action="key.issue",
                target=str(key.pk),
                details={"label": key.label},
            )
            for key in self._keys
        )
        self._keys = []


def _add_models() -> None:
    provider = add_provider(name=PROVIDER, kind=SIMULATED, actor=ACTOR)
    for model in MODELS:
        add_model(
            name=model.name,
            provider=provider,
            native_model="simulated",
            input_pusd=model.input_nusd * PUSD_PER_NUSD,
            output_pusd=model.output_nusd * PUSD_PER_NUSD,
            max_output_tokens=4_096,
            actor=ACTOR,
        )


def _add_people(role: str, count: int) -> list[User]:
    """Make people who cannot sign in."""
    people = [
        User(email=f"{role}-{number}@load.test", password=UNUSABLE_PASSWORD_PREFIX)
        for number in range(1, count + 1)
    ]
    _write(people)
    return people


def _add_workspaces(plan: LoadPlan, ids: _Ids) -> list[Workspace]:
    """Make workspaces with their wallets and credit."""
    workspaces = [
        Workspace(id=ids.next(), name=f"Load test {number:,}", slug=f"load-test-{number}")
        for number in range(1, plan.workspaces + 1)
    ]
    _write(workspaces)
    granted = list(zip(workspaces, plan.credits_nusd(), strict=True))
    _write(
        Wallet(workspace=workspace, posted_nusd=credit_nusd, sequence=1)
        for workspace, credit_nusd in granted
    )
    _write(_grant(workspace, credit_nusd, plan.starts_at) for workspace, credit_nusd in granted)
    return workspaces


def _grant(workspace: Workspace, credit_nusd: int, at: datetime) -> LedgerEntry:
    return LedgerEntry(
        wallet_id=workspace.pk,
        sequence=1,
        kind=LedgerEntry.Kind.GRANT,
        amount_nusd=credit_nusd,
        balance_nusd=credit_nusd,
        source=f"grant:{workspace.pk}",
        actor=ACTOR,
        reason="Load test",
        created_at=at,
    )


def _add_memberships(workspaces: list[Workspace], owners: list[User], members: list[User]) -> None:
    _write(
        Membership(workspace=workspace, user=owner, role=Role.OWNER)
        for workspace, owner in zip(workspaces, owners, strict=True)
    )
    _write(
        Membership(workspace=workspaces[0], user=member, role=Role.DEVELOPER) for member in members
    )


def _write(rows: Iterable[Model]) -> None:
    for some in _in_parts(rows):
        type(some[0])._default_manager.bulk_create(some)


def _in_parts(rows: Iterable[Model]) -> Iterator[list[Model]]:
    left = iter(rows)
    while some := list(islice(left, PER_STATEMENT)):
        yield some
