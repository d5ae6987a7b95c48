"""The only module that writes the services that workspaces have for processors. A credential is
never returned to people."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.all_errors import raising_all
from accounts.changes import record_audit, record_change
from accounts.ids import new_id
from accounts.models import ConfigChange, Workspace
from gateway.core.processor_rules import ServiceSettings
from gateway.models import MandatoryProcessor, ProcessorService
from gateway.outbound.permitted_addresses import read_networks, unwrapped
from gateway.processors.services import ServiceClient
from gateway.services.addresses import check_public_url, origin_of
from gateway.services.credential_encryption import decrypt, encrypt
from gateway.services.row_names import check_name
from gateway.stores.processor_rules import compile_service
from keys.access import access_rules_of

MAX_SERVICES = 20
MAX_SECRET_CHARS = 4096
HTTPS_ONLY = (
    "Use https. http is forbidden unless an operator allows the network"
    " (TOLLHOUSE_FETCH_ALLOWED_NETWORKS)."
)
# Names that `service_id` has for something else.
TAKEN = frozenset({"ner"})


@transaction.atomic
def add_service(
    workspace: Workspace, *, name: str, kind: str, url: str, credential: str = "", actor: str
) -> ProcessorService:
    """Add a service that calls of the workspace may name. Raises ValidationError."""
    if ProcessorService.objects.filter(workspace=workspace).count() >= MAX_SERVICES:
        raise ValidationError({"name": f"A workspace has at most {MAX_SERVICES} services."})
    row = ProcessorService(id=new_id(), workspace=workspace, name=name, kind=kind, url=url.strip())
    with raising_all() as gather:
        with gather():
            _put(row, credential)
        with gather():
            _check(row)
    row.save()
    _record(row, actor=actor, action="processor_service.add", kind=kind, url=row.url)
    return row


@transaction.atomic
def update_service(
    row: ProcessorService, *, url: str | None = None, credential: str | None = None, actor: str
) -> bool:
    """Change the address, or the credential; an empty one removes that. One that is kept is not
    sent to another host: it has to be entered again. Returns False when nothing is different.
    Raises ValidationError."""
    details: dict[str, object] = {}
    old_url = row.url
    if url is not None and url.strip() != row.url:
        details["url"] = [row.url, url.strip()]
        row.url = url.strip()
    if credential is not None and (credential or row.secret is not None):
        details["credential"] = "replaced" if credential else "removed"
        _put(row, credential)
    if not details:
        return False
    _check(row)
    if credential is None and row.secret is not None and origin_of(row.url) != origin_of(old_url):
        words = "Enter the credential again because the host changed."
        raise ValidationError({"credential": words})
    row.save()
    _record(row, actor=actor, action="processor_service.update", **details)
    return True


@transaction.atomic
def remove_service(row: ProcessorService, *, actor: str) -> None:
    """Forget a service. Raises ValidationError for one that a mandatory processor asks."""
    for one in MandatoryProcessor.objects.filter(workspace=row.workspace):
        if one.options.get("service_id") == row.name:
            raise ValidationError(
                f"The mandatory processor {one.processor} uses this service. Change it first."
            )
    _record(row, actor=actor, action="processor_service.remove")
    row.delete()


def services_for_calls(workspace: Workspace) -> Mapping[str, ServiceSettings]:
    """Return the services of a workspace as calls have them, by their names."""
    rows = ProcessorService.objects.filter(workspace=workspace)
    access = access_rules_of(workspace)
    return {one.name: compile_service(one, access) for one in rows}


def open_service_client() -> ServiceClient:
    """Return what asks services, in the operator's networks as well. For the running loop."""
    return ServiceClient(read_networks(settings.FETCH_ALLOWED_NETWORKS), open_service_secret)


def open_service_secret(sealed: bytes, row_id: str) -> str:
    """Return the credential of a service. Raises DecryptionFailed."""
    return decrypt(sealed, UUID(row_id))


def _put(row: ProcessorService, credential: str) -> None:
    credential = credential.strip()
    check_credential(credential)
    row.secret = encrypt(credential, row.pk) if credential else None


def check_credential(credential: str) -> None:
    """Raises ValidationError for one that is no value of a header."""
    is_header = credential.isascii() and credential.isprintable()
    if len(credential) > MAX_SECRET_CHARS or not is_header:
        raise ValidationError(
            {"credential": f"At most {MAX_SECRET_CHARS} printable ASCII characters."}
        )


def _check(row: ProcessorService) -> None:
    """Raise ValidationError for the fields at fault."""
    with raising_all() as gather:
        with gather():
            _check_name(row)
        with gather():
            check_url(row)
        with gather():
            row.full_clean(exclude={"secret", *gather.errors})


def _check_name(row: ProcessorService) -> None:
    if row.name in TAKEN:
        raise ValidationError({"name": f"The name {row.name} is reserved."})
    others = ProcessorService.objects.filter(workspace=row.workspace).exclude(pk=row.pk)
    check_name(row.name, others)


def check_url(row: ProcessorService) -> None:
    """Raises ValidationError for what is no URL, and for one that no call could be sent to
    (gateway.processors.services)."""
    try:
        parts = urlsplit(row.url)
        port_ok = parts.port != 0
    except ValueError:
        raise ValidationError({"url": "This is not a URL."}) from None
    if (
        parts.scheme not in ("http", "https")
        or not parts.hostname
        or not port_ok
        or parts.username is not None
        or parts.password is not None
        or parts.query
        or parts.fragment
        or not row.url.isascii()
        or any(c.isspace() for c in row.url)
    ):
        raise ValidationError(
            {"url": "Enter an http or https URL without credentials, query or fragment."}
        )
    check_public_url(row.url)
    if parts.scheme == "http" and not _may_be_plain(parts.hostname):
        raise ValidationError({"url": HTTPS_ONLY})


def _may_be_plain(host: str) -> bool:
    """True for an address in the operator's networks, and where there are such, for a name: it is
    judged when it is connected to."""
    networks = read_networks(settings.FETCH_ALLOWED_NETWORKS)
    try:
        address = unwrapped(ip_address(host))
    except ValueError:
        return bool(networks)
    return any(address in network for network in networks)


def _record(row: ProcessorService, *, actor: str, action: str, **details: object) -> None:
    record_audit(
        actor=actor,
        action=action,
        target=row.name,
        workspace=row.workspace,
        details=details,
    )
    record_change(ConfigChange.Kind.WORKSPACE, row.workspace_id.hex)
