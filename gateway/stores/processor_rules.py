"""What workspaces have decided of processors, compiled for admission."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, FilteredRelation, OuterRef, Q

from accounts.models import Workspace
from gateway.core.egress import HostRules
from gateway.core.processor_rules import (
    ProcessorRules,
    RequiredProcessor,
    ServiceKind,
    ServiceSettings,
)
from gateway.models import MandatoryProcessor, ProcessorService
from gateway.stores.access_rules import compile_hosts
from keys.models import AccessRules, ApiKey

_MANDATORY = ("id", "key_id", "processor", "options", "language", "created_at")
_SERVICE = ("id", "name", "kind", "url", "secret")
KINDS: Mapping[str, ServiceKind] = {kind: kind for kind in get_args(ServiceKind)}


def workspace_has_processor_rules() -> Q:
    """Say of a key, in its query, whether there are rules or services in its workspace."""
    of_workspace = {"workspace": OuterRef("workspace")}
    return Exists(MandatoryProcessor.objects.filter(**of_workspace)) | Exists(
        ProcessorService.objects.filter(**of_workspace)
    )


def processor_rules_of_keys(keys: Sequence[ApiKey]) -> Mapping[UUID, ProcessorRules]:
    """Return the rules of each key. One query; none without keys."""
    if not keys:
        return {}
    required, services = _load(keys)
    return {key.pk: _rules_of(key, required, services) for key in keys}


def _load(keys: Sequence[ApiKey]) -> tuple[list[MandatoryProcessor], list[ProcessorService]]:
    """Return what is mandatory for these keys, in the order in which it was made so, and the
    services of their workspaces."""
    of_keys = Q(mandatory_processors__key=None) | Q(mandatory_processors__key__in=keys)
    rows = (
        Workspace.objects.filter(pk__in={key.workspace_id for key in keys})
        .annotate(required=FilteredRelation("mandatory_processors", condition=of_keys))
        .values_list(
            "pk",
            *(f"required__{name}" for name in _MANDATORY),
            *(f"processor_services__{name}" for name in _SERVICE),
        )
    )
    # Each of these stands beside each of those.
    required: dict[UUID, MandatoryProcessor] = {}
    services: dict[UUID, ProcessorService] = {}
    for workspace_id, *values in rows:
        one = dict(zip(_MANDATORY, values[: len(_MANDATORY)], strict=True))
        if one["id"] is not None and one["id"] not in required:
            required[one["id"]] = MandatoryProcessor(workspace_id=workspace_id, **one)
        other = dict(zip(_SERVICE, values[len(_MANDATORY) :], strict=True))
        if other["id"] is not None and other["id"] not in services:
            services[other["id"]] = ProcessorService(workspace_id=workspace_id, **other)
    by_age = sorted(required.values(), key=lambda one: (one.created_at, one.pk))
    return by_age, list(services.values())


def _rules_of(
    key: ApiKey, required: Sequence[MandatoryProcessor], services: Sequence[ProcessorService]
) -> ProcessorRules:
    of_all = [one for one in required if one.workspace_id == key.workspace_id and not one.key_id]
    own = [one for one in required if one.key_id == key.pk]
    access: AccessRules | None = getattr(key.workspace, "access_rules", None)
    return ProcessorRules(
        # A key's own options take the place of its workspace's.
        required={one.processor: _compile(one) for one in (*of_all, *own)},
        services={
            one.name: compile_service(one, access)
            for one in services
            if one.workspace_id == key.workspace_id
        },
    )


def _compile(row: MandatoryProcessor) -> RequiredProcessor:
    return RequiredProcessor(name=row.processor, options=row.options, language=row.language)


def compile_service(row: ProcessorService, access: AccessRules | None) -> ServiceSettings:
    """access: the access rules of the workspace, whose hosts apply to its services, too."""
    hosts = compile_hosts(access) or HostRules()
    return ServiceSettings(
        service_id=row.name,
        kind=KINDS[row.kind],
        url=row.url,
        sealed=bytes(row.secret or b""),
        row_id=str(row.pk),
        hosts=HostRules(hosts.allowed, (*hosts.denied, *settings.OWN_HOSTS)),
    )
