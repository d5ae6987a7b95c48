"""Plain functions that make what a test starts from. Only what matters is spelled out there."""

from __future__ import annotations

import uuid
from datetime import timedelta
from itertools import count
from typing import Any

from django.utils import timezone

from accounts.ids import new_id
from accounts.models import Role, User, Workspace
from accounts.services import add_member, create_user, create_workspace
from gateway.models import (
    Batch,
    LanguageModel,
    MandatoryProcessor,
    ProcessorService,
    Provider,
    ProviderCredential,
    ServingProcess,
    StoredFile,
)
from gateway.services.credential_encryption import decrypt
from gateway.services.mandatory_processors import find_mandatory, require_processor
from gateway.services.models import add_model
from gateway.services.processor_services import add_service
from gateway.services.providers import add_provider
from keys.models import ApiKey
from keys.services import IssuedKey, issue_key

ACTOR = "tests"
PASSWORD = "a long enough passphrase 27"
_numbers = count(1)


def make_workspace(name: str = "Acme", *, credit_nusd: int = 0) -> Workspace:
    return create_workspace(name=name, credit_nusd=credit_nusd, actor=ACTOR)


def make_user(email: str = "", *, is_operator: bool = False) -> User:
    return create_user(
        email=email or f"person{next(_numbers)}@example.com",
        password=PASSWORD,
        is_operator=is_operator,
        actor=ACTOR,
    )


def make_member(workspace: Workspace, role: str = Role.ADMIN) -> User:
    user = make_user()
    add_member(workspace, user=user, role=role, actor=ACTOR)
    return user


def make_key(workspace: Workspace, **fields: Any) -> IssuedKey:
    return issue_key(workspace=workspace, actor=ACTOR, **({"label": "A key"} | fields))


def make_provider(name: str = "sim", **fields: Any) -> Provider:
    return add_provider(name=name, actor=ACTOR, **({"kind": "simulated"} | fields))


def stored_credential(provider: Provider) -> str:
    """Return the one credential of a provider, empty where it has none."""
    rows = ProviderCredential.objects.filter(provider=provider)
    return "".join(decrypt(bytes(row.secret or b""), row.pk) for row in rows)


def make_model(name: str = "simulated", **fields: Any) -> LanguageModel:
    """Make a model of 1 USD in and 2 USD out per million tokens, with a provider of its own."""
    defaults: dict[str, Any] = {
        "provider": fields.get("provider") or make_provider(f"provider{next(_numbers)}"),
        "input_pusd": 1_000_000,
        "output_pusd": 2_000_000,
        "max_output_tokens": 4_096,
    }
    return add_model(name=name, actor=ACTOR, **(defaults | fields))


def make_batch(workspace: Workspace, *, key: ApiKey | None = None, **fields: Any) -> Batch:
    """Make a batch of a key, a new one by default, that no worker has begun with."""
    now = timezone.now()
    row = {
        "workspace_id": workspace.pk,
        "key_id": (key or make_key(workspace).key).pk,
        "endpoint": "/v1/chat/completions",
        "input_file": new_id(),
        "created_at": now,
        "expires_at": now + timedelta(days=1),
    }
    return Batch.objects.create(**(row | fields))


def make_mandatory(workspace: Workspace, key: ApiKey | None = None) -> MandatoryProcessor:
    """Make prompt_shield mandatory."""
    require_processor(workspace, "prompt_shield", key=key, actor=ACTOR)
    row = find_mandatory(workspace, "prompt_shield", key)
    assert row is not None
    return row


def make_service(workspace: Workspace, **fields: Any) -> ProcessorService:
    """Make a Presidio that nothing answers for."""
    given = {"name": f"s{new_id().hex[:12]}", "kind": "presidio", "url": "https://pii.invalid"}
    return add_service(workspace, actor=ACTOR, **(given | fields))


def make_dead_process(**fields: Any) -> ServingProcess:
    """Make a process of another host that has not been heard of for an hour."""
    then = timezone.now() - timedelta(hours=1)
    moments = {"started_at": then, "heartbeat_at": then, "lease_until": then}
    return ServingProcess.objects.create(
        **({"id": new_id(), "host": "web-2", "home": "/srv/two", "pid": 4711} | moments | fields)
    )


def make_file(workspace: Workspace, **fields: Any) -> StoredFile:
    """Make the row of a stored file; its bytes are nowhere."""
    now = timezone.now()
    usual = {"filename": "a.pdf", "purpose": "user_data", "state": "ready", "sha256": "0" * 64}
    row = usual | {"storage_name": uuid.uuid4().hex, "created_at": now, "touched_at": now} | fields
    return StoredFile.objects.create(workspace_id=workspace.pk, **row)
