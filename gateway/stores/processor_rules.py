"""What workspaces have decided of processors, compiled for admission."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import get_args
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from gateway.core.processor_rules import (
    ProcessorRules,
    RequiredProcessor,
    ServiceKind,
    ServiceSettings,
)
from gateway.models import MandatoryProcessor, ProcessorService
from keys.models import ApiKey

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
    workspaces = {key.workspace_id for key in keys}
    required = list(MandatoryProcessor.objects.filter(workspace__in=workspaces))
    services = list(ProcessorService.objects.filter(workspace__in=workspaces))
    return {key.pk: _rules_of(key, required, services) for key in keys}


def _rules_of(
    key: ApiKey, required: Sequence[MandatoryProcessor], services: Sequence[ProcessorService]
) -> ProcessorRules:
    of_all = [one for one in required if one.workspace_id == key.workspace_id and not one.key_id]
    own = [one for one in required if one.key_id == key.pk]
    return ProcessorRules(
        # A key's own options take the place of its workspace's.
        required={one.processor: _compile(one) for one in (*of_all, *own)},
        services={
            one.name: compile_service(one)
            for one in services
            if one.workspace_id == key.workspace_id
        },
    )


def _compile(row: MandatoryProcessor) -> RequiredProcessor:
    return RequiredProcessor(name=row.processor, options=row.options, language=row.language)


def compile_service(row: ProcessorService) -> ServiceSettings:
    return ServiceSettings(
        service_id=row.name,
        kind=KINDS[row.kind],
        url=row.url,
        sealed=bytes(row.secret or b""),
        row_id=str(row.pk),
    )
