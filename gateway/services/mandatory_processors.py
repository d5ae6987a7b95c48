"""The only module that writes which processors are mandatory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.changes import differences, record_audit, record_change
from accounts.ids import new_id
from accounts.models import ConfigChange, Workspace
from gateway.core.errors import GatewayError
from gateway.core.json_types import JsonObject
from gateway.endpoints.chat_completions.processor_options import check_options
from gateway.models import MandatoryProcessor, ProcessorService
from gateway.processors.base import Processor
from gateway.processors.languages import main_language
from gateway.processors.pii_search import SearchSettings, read_search
from gateway.processors.registry import PROCESSORS
from gateway.services.processor_services import services_for_calls
from keys.models import ApiKey


class RequirableProcessor(NamedTuple):
    """A processor that can be made mandatory. languages: to choose from; empty where the language
    of a call does not matter. needs_language: one has to be chosen."""

    name: str
    description: str
    languages: Sequence[str]
    needs_language: bool


def requirable_processors() -> list[RequirableProcessor]:
    """Return those that can be mandatory, in the order in which they run."""
    return [
        RequirableProcessor(
            one.name, one.description, sorted(one.languages_if_required), one.is_language_needed({})
        )
        for one in PROCESSORS.values()
        if one.can_be_required
    ]


@transaction.atomic
def require_processor(
    workspace: Workspace,
    name: str,
    *,
    key: ApiKey | None = None,
    options: Mapping[str, object] | None = None,
    language: str = "",
    actor: str,
) -> bool:
    """Make a processor mandatory for all calls of the workspace, or of a key, or change with what
    options it is. Returns False when nothing is different. Raises ValidationError."""
    options = {name: value for name, value in (options or {}).items() if value is not None}
    language = language.strip()
    _check(workspace, name, options, language)
    row = find_mandatory(workspace, name, key)
    if row is None:
        row = MandatoryProcessor(id=new_id(), workspace=workspace, key=key, processor=name)
        details: dict[str, object] = {"options": options, "language": language}
        action = "processor.require"
    else:
        details = differences(row, {"options": options, "language": language})
        action = "processor.change"
        if not details:
            return False
    row.options, row.language = options, language
    row.full_clean()
    row.save()
    _record(row, actor=actor, action=action, details=details)
    return True


@transaction.atomic
def release_processor(row: MandatoryProcessor, *, actor: str) -> None:
    """Leave it to callers again."""
    _record(row, actor=actor, action="processor.release", details={})
    row.delete()


def find_mandatory(
    workspace: Workspace, name: str, key: ApiKey | None
) -> MandatoryProcessor | None:
    return MandatoryProcessor.objects.filter(workspace=workspace, processor=name, key=key).first()


def _check(workspace: Workspace, name: str, options: Mapping[str, object], language: str) -> None:
    """Raise ValidationError for what every call would be refused for."""
    processor = PROCESSORS.get(name)
    if processor is None or not processor.can_be_required:
        known = ", ".join(one.name for one in requirable_processors())
        raise ValidationError(
            {"processor": f"{name[:64]} cannot be mandatory. Use one of {known}."}
        )
    given: JsonObject = {name: dict(options)} if options else {}
    try:
        check_options(given)
        main = main_language(language) or None
        if processor.options is not None and issubclass(processor.options, SearchSettings):
            _check_search(workspace, processor, options, main)
    except GatewayError as error:
        message = str(error).replace(f"inferada.{name}.", "")
        raise ValidationError({"options": message}) from None
    _check_language(processor, options, main)
    _check_service(workspace, processor, options)


def _check_search(
    workspace: Workspace,
    processor: Processor,
    options: Mapping[str, object],
    language: str | None,
) -> None:
    """Raise GatewayError."""
    read_search(
        SearchSettings(
            entities=options.get("entities"),  # type: ignore[arg-type]
            service_id=options.get("service_id"),  # type: ignore[arg-type]
        ),
        language if language in processor.languages_if_required else None,
        name=processor.name,
        services=services_for_calls(workspace),
    )


def _check_language(
    processor: Processor, options: Mapping[str, object], language: str | None
) -> None:
    if language is None:
        if processor.is_language_needed(options):
            supported = ", ".join(sorted(processor.languages))
            raise ValidationError(
                {"language": f"Choose the language of the texts. One of {supported}."}
            )
    elif (known := processor.languages_if_required) and language not in known:
        supported = ", ".join(sorted(known))
        raise ValidationError({"language": f"One of {supported}."})


def _check_service(
    workspace: Workspace, processor: Processor, options: Mapping[str, object]
) -> None:
    name = options.get("service_id")
    if name is None or processor.name != "spellcheck":
        return
    rows = ProcessorService.objects.filter(workspace=workspace, name=name)
    if not rows.filter(kind=ProcessorService.Kind.LANGUAGETOOL).exists():
        raise ValidationError({"options": f"The service {name} does not correct spelling."})


def _record(
    row: MandatoryProcessor, *, actor: str, action: str, details: Mapping[str, object]
) -> None:
    of_key = {} if row.key is None else {"key": row.key.label}
    record_audit(
        actor=actor,
        action=action,
        target=row.processor,
        workspace=row.workspace,
        details={**of_key, **details},
    )
    record_change(ConfigChange.Kind.WORKSPACE, row.workspace_id.hex)
