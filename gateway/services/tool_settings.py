"""The only module that writes the settings of server tools. No credential is returned to people."""

from __future__ import annotations

from typing import NamedTuple, TypedDict, Unpack

from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.changes import record_audit, record_change
from accounts.ids import new_id
from accounts.models import ConfigChange, Workspace
from gateway.core.credential_texts import hint_of, read_secret
from gateway.core.money import NUSD_PER_USD
from gateway.models import LanguageModel, ToolSetting
from gateway.services.addresses import read_base_url
from gateway.services.changed_fields import change_fields
from gateway.services.credential_encryption import encrypt
from gateway.services.snapshot_tools import compile_record
from gateway.snapshot.tools import ToolRecord
from gateway.tools.backends import SERVICES, STATIC
from gateway.tools.base import ServerTool
from gateway.tools.choose import find_problem
from gateway.tools.registry import TOOLS

MAX_PRICE_NUSD = 100 * NUSD_PER_USD
MAX_DOCUMENTS = 200
MAX_TEXT_CHARS = 20_000


class ToolFields(TypedDict, total=False):
    """What can be set. A field that is not given stays as it is."""

    enabled: bool
    backend: str
    base_url: str
    model: str
    documents: list[dict[str, str]]
    price_nusd: int


class ToolLine(NamedTuple):
    """A tool and what is set for it; setting: None where nothing is."""

    tool: ServerTool
    setting: ToolSetting | None

    @property
    def price_nusd(self) -> int:
        return self.tool.nusd_each if self.setting is None else self.setting.price_nusd

    @property
    def problem(self) -> str:
        """Why calls cannot use it, empty where they can."""
        return find_problem(self.tool, record_of(self.tool, self.setting))


def tool_lines(workspace: Workspace | None = None) -> list[ToolLine]:
    """Return every tool with what is set for the installation, or for a workspace of its own."""
    rows = {row.tool: row for row in ToolSetting.objects.filter(workspace=workspace)}
    return [ToolLine(tool, rows.get(name)) for name, tool in TOOLS.items()]


def get_tool(name: str) -> ServerTool:
    """Raises LookupError with a sentence."""
    if name not in TOOLS:
        raise LookupError(f"The tool {name[:60]} does not exist. Use one of {', '.join(TOOLS)}.")
    return TOOLS[name]


def record_of(tool: ServerTool, row: ToolSetting | None) -> ToolRecord:
    """Return the installation's tool as calls have it."""
    if row is None:
        return ToolRecord(tool=tool.name, nusd_each=tool.nusd_each)
    return compile_record(row, is_enabled=row.enabled, nusd_each=row.price_nusd)


def find_setting(name: str, workspace: Workspace | None = None) -> ToolSetting | None:
    return ToolSetting.objects.filter(tool=name, workspace=workspace).first()


@transaction.atomic
def set_tool(
    name: str,
    *,
    actor: str,
    workspace: Workspace | None = None,
    credential: str | None = None,
    **fields: Unpack[ToolFields],
) -> bool:
    """Change what is given of a tool. Returns False when nothing is different.

    workspace: for it alone. credential: takes the place of the one there is; an empty one removes
    it. Raises ValidationError, LookupError.
    """
    tool = get_tool(name)
    row = find_setting(name, workspace)
    is_new = row is None
    if row is None:
        row = ToolSetting(id=new_id(), tool=name, workspace=workspace)
        row.price_nusd = 0 if workspace else tool.nusd_each
        row.save()
    values: dict[str, object] = dict(_clean(tool, fields))
    moves = any(getattr(row, key) != values.get(key, getattr(row, key)) for key in _ADDRESS)
    if moves and row.secret is not None and credential is None:
        message = "Enter the credential again: it was for another service or address."
        raise ValidationError({"credential": message})
    details: dict[str, object] = {}
    if credential is not None:
        details |= _put(row, credential)
    details |= change_fields(row, values, lambda changed: _check(tool, changed))
    if is_new:
        _check(tool, row)
    if not details and (workspace is None or not is_new):
        if is_new:
            row.delete()
        return False
    record_change(ConfigChange.Kind.TOOLS, workspace.pk.hex if workspace else "")
    if "documents" in details:
        details["documents"] = "changed"
    record_audit(
        actor=actor, action="tool.update", target=name, workspace=workspace, details=details
    )
    return True


_ADDRESS = ("backend", "base_url")


def _clean(tool: ServerTool, fields: ToolFields) -> ToolFields:
    """Return the fields as they are stored. Raises ValidationError."""
    cleaned: ToolFields = {**fields}
    if fields.get("base_url"):
        cleaned["base_url"] = read_base_url(fields["base_url"], kind="")
    if "documents" in fields:
        cleaned["documents"] = read_documents(fields["documents"])
    return cleaned


def _put(row: ToolSetting, text: str) -> dict[str, object]:
    """Set the credential. Raises ValidationError."""
    if not text.strip():
        if row.secret is None:
            return {}
        row.secret, row.hint = None, ""
        row.save(update_fields=["secret", "hint"])
        return {"credential": "removed"}
    try:
        secret = read_secret("key", text.strip())
    except ValueError as error:
        raise ValidationError({"credential": str(error)}) from None
    row.secret, row.hint = encrypt(secret, row.pk), hint_of("key", secret)
    row.save(update_fields=["secret", "hint"])
    return {"credential": "replaced"}


def _check(tool: ServerTool, row: ToolSetting) -> None:
    """Raises ValidationError for what does not fit together."""
    if row.backend and row.backend not in tool.backends:
        known = ", ".join(tool.backends) or "none"
        raise ValidationError({"backend": f"Unknown service. Use one of {known}."})
    service = SERVICES.get(row.backend)
    if service is not None and not service.base_url and not row.base_url:
        raise ValidationError({"base_url": f"Enter the base URL of {service.label}."})
    if service is not None and service.needs_secret and row.secret is None:
        raise ValidationError({"credential": f"Enter the API key of {service.label}."})
    if not tool.backends and (row.base_url or row.secret is not None):
        raise ValidationError({"backend": f"{tool.name} does not use a service."})
    _check_rest(tool, row)


def _check_rest(tool: ServerTool, row: ToolSetting) -> None:
    if row.backend == STATIC and not row.documents:
        raise ValidationError({"documents": "Enter at least one document."})
    if row.model:
        if not tool.needs_model or row.workspace_id is not None:
            raise ValidationError({"model": f"No model can be set for {tool.name} here."})
        found = LanguageModel.objects.filter(name=row.model).first()
        if found is None or found.operation not in ("", "images"):
            raise ValidationError({"model": "Enter the name of a model for images."})
    check_price(row.price_nusd)
    if row.workspace_id is not None and row.price_nusd:
        message = "Prices are set for the installation. A workspace's own service is free."
        raise ValidationError({"price_nusd": message})


def check_price(price_nusd: int) -> None:
    """Raises ValidationError for one that is negative or too high."""
    if not 0 <= price_nusd <= MAX_PRICE_NUSD:
        raise ValidationError({"price_nusd": "Enter a price from 0 to 100 USD."})


def read_documents(given: object) -> list[dict[str, str]]:
    """Return the documents of a static index. Raises ValidationError."""
    if not isinstance(given, list) or len(given) > MAX_DOCUMENTS:
        raise ValidationError({"documents": f"Use a list of at most {MAX_DOCUMENTS} documents."})
    for number, one in enumerate(given, start=1):
        is_whole = isinstance(one, dict) and one.keys() == {"title", "url", "text"}
        if not is_whole or not all(isinstance(text, str) for text in one.values()):
            message = f"Document {number} must have title, url and text, and nothing else."
            raise ValidationError({"documents": message})
        if not one["url"].startswith(("http://", "https://")):
            raise ValidationError({"documents": f"The URL of document {number} is not valid."})
        if sum(map(len, one.values())) > MAX_TEXT_CHARS:
            message = f"Document {number} has more than {MAX_TEXT_CHARS:,} characters."
            raise ValidationError({"documents": message})
    return given
