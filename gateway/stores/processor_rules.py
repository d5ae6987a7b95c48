"""What workspaces have decided of processors, compiled for admission."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, OuterRef, Q

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

KINDS: Mapping[str, ServiceKind] = {kind: kind for kind in get_args(ServiceKind)}


def workspace_has_processor_rules() -> Q:
    """Say of a key, in its query, whether there are rules or services in its workspace."""
    of_workspace = {"workspace": OuterRef("workspace")}
    return Exists(MandatoryProcessor.objects.filter(**of_workspace)) | Exists(
        ProcessorService.objects.filter(**of_workspace)
    )


def processor_rules_of_keys(keys: Sequence[ApiKey]) -> Mapping[UUID, ProcessorRules]:
    """Return the rules of each key. Two queries; none without keys."""
    if not keys:
        return {}
    workspace_ids = {key.workspace_id for key in keys}
    of_keys = Q(key=None) | Q(key__in=keys)
    required = MandatoryProcessor.objects.filter(of_keys, workspace__in=workspace_ids)
    # In the order in which they were made mandatory.
    by_age = list(required.order_by("created_at", "pk"))
    services = list(ProcessorService.objects.filter(workspace__in=workspace_ids))
    return {key.pk: _rules_of(key, by_age, services) for key in keys}


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
