"""Keys issued elsewhere, taken over as they are: shown first, then all of them or none.

With keys.services the only writer of keys. Pages and commands come here; what a person may import
is checked here, too (docs/adr/0039).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.changes import record_audits, record_changes
from accounts.models import AuditEvent, ConfigChange, User, Workspace
from accounts.permissions import Action, NotAllowed, may
from keys.access import lifetime_complaint, max_key_days
from keys.import_rows import DIGEST, SECRET, ImportRow, Problem
from keys.imported_secret import read_secret
from keys.models import ApiKey, KeyImport
from keys.rules import as_json
from keys.secret import KeptSecret
from keys.selectors import ADMIN_SCOPES, keys_by_digest
from keys.services import refuse_more_than_held

PREVIEW_LIFE = timedelta(hours=1)
BATCH = 500
REFUSED = "Only owners and admins can import keys."
HERE = "This key is already in this workspace."
REVOKED = "This key was revoked in this workspace. Create a new key for the program."
# Whose it is, is nobody's business who only knows the key.
ELSEWHERE = "This key cannot be imported because it is already in use."
NOT_BY_DIGEST = (
    "Only operators can import keys by digest. Enter the key itself, or ask an operator."
)


class ImportRefused(Exception):
    """Some rows cannot be imported, so none was."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__("; ".join(map(str, problems[:20])))
        self.problems = problems


@dataclass(frozen=True)
class Plan:
    """What an import would do."""

    # Rows that become keys.
    fresh: list[ImportRow]
    # Rows whose keys exist already and stay as they are.
    here: list[ImportRow]
    # Why it cannot be done.
    problems: list[Problem]


def read_imported_secret(text: str, workspace: Workspace) -> KeptSecret:
    """Return what is kept of one secret. Raises ValidationError for the field `secret`."""
    try:
        kept = read_secret(text)
    except ValueError as error:
        raise ValidationError({SECRET: str(error)}) from None
    known = keys_by_digest([kept.digest]).get(kept.digest)
    if known is not None:
        raise ValidationError({SECRET: _words_of(known, workspace) or HERE})
    return kept


def plan_import(workspace: Workspace, rows: Sequence[ImportRow], *, person: User | None) -> Plan:
    """Return what an import would do. person: who asks; None for who runs commands.

    Raises NotAllowed when the person may not import keys at all.
    """
    if person is not None and not may(person, Action.MANAGE_KEYS, workspace):
        raise NotAllowed(REFUSED)
    known = _find_keys({row.kept.digest for row in rows})
    members = _find_members(workspace, {row.member for row in rows})
    by_digest = person is None or may(person, Action.IMPORT_DIGESTS)
    longest_days = max_key_days(workspace)
    plan = Plan([], [], [])
    for row in rows:
        key = known.get(row.kept.digest)
        if row.by_digest and not by_digest:
            # Before anything is said of the digest: it is not a key.
            plan.problems.append(Problem(row.line, DIGEST, NOT_BY_DIGEST))
        elif key is not None:
            words = _words_of(key, workspace)
            if words:
                plan.problems.append(Problem(row.line, "", words))
            else:
                plan.here.append(row)
        else:
            plan.problems.extend(_complaints(row, members, person, workspace))
            if words := lifetime_complaint(longest_days, row.rules["expires_at"]):
                plan.problems.append(Problem(row.line, "expires_at", words))
            plan.fresh.append(row)
    return plan


def keep_preview(workspace: Workspace, rows: Sequence[ImportRow], *, person: User) -> KeyImport:
    """Keep what the person was shown until they confirm it, an hour at the most."""
    KeyImport.objects.filter(created_at__lt=timezone.now() - PREVIEW_LIFE).delete()
    return KeyImport.objects.create(
        workspace=workspace, person=person, rows=[row.to_json() for row in rows]
    )


def find_preview(workspace: Workspace, import_id: UUID, *, person: User) -> KeyImport | None:
    """Return what this person was shown in this workspace, None when that is gone."""
    since = timezone.now() - PREVIEW_LIFE
    return KeyImport.objects.filter(
        pk=import_id, workspace=workspace, person=person, created_at__gte=since
    ).first()


def rows_shown(preview: KeyImport) -> list[ImportRow]:
    """Return the rows of a preview, none once they are imported."""
    return [ImportRow.from_json(stored) for stored in preview.rows]


@transaction.atomic
def confirm_preview(preview: KeyImport, *, person: User) -> list[ApiKey] | None:
    """Import what the person was shown; None when that has been done.

    Raises as import_keys does; then the preview stays.
    """
    open_ones = KeyImport.objects.filter(pk=preview.pk, confirmed_at=None)
    if not open_ones.update(confirmed_at=timezone.now(), rows=[]):
        return None
    rows = rows_shown(preview)
    return import_keys(preview.workspace, rows, actor=person.email, person=person)


def import_keys(
    workspace: Workspace, rows: Sequence[ImportRow], *, actor: str, person: User | None = None
) -> list[ApiKey]:
    """Make a key of each row that is not here yet, all or none, and return them.

    person: who asks, if one does. Raises ImportRefused, and NotAllowed as plan_import does.
    """
    plan = plan_import(workspace, rows, person=person)
    if plan.problems:
        raise ImportRefused(plan.problems)
    members = _find_members(workspace, {row.member for row in plan.fresh})
    keys = [
        ApiKey(
            workspace=workspace,
            created_by_id=members.get(row.member),
            compat_profile=row.profile,
            granted_scopes=sorted(ADMIN_SCOPES & set(row.rules["scopes"])),
            **row.kept._asdict(),
            **row.rules,
            **row.limits,
        )
        for row in plan.fresh
    ]
    try:
        with transaction.atomic():
            ApiKey.objects.bulk_create(keys, batch_size=BATCH)
            record_changes(ConfigChange.Kind.KEY, [key.digest for key in keys])
            record_audits(list(_events(workspace, plan.fresh, keys, actor)))
    except IntegrityError:
        words = "Someone else imported one of these keys at the same time. Try again."
        raise ImportRefused([Problem(1, "", words)]) from None
    return keys


def _complaints(
    row: ImportRow, members: dict[str, int], person: User | None, workspace: Workspace
) -> Iterator[Problem]:
    if row.member and row.member not in members:
        yield Problem(row.line, "member", "This user is not a member of the workspace.")
    try:
        refuse_more_than_held(row.rules["scopes"], person, workspace)
    except ValidationError as error:
        yield Problem(row.line, "scopes", error.messages[0])


def _words_of(key: ApiKey, workspace: Workspace) -> str:
    """Return why a key that is known cannot be imported; empty where it is here and in use."""
    if key.workspace_id != workspace.pk:
        return ELSEWHERE
    return REVOKED if key.revoked_at is not None else ""


def _find_keys(digests: Collection[str]) -> dict[str, ApiKey]:
    wanted, found = sorted(digests), dict[str, ApiKey]()
    for start in range(0, len(wanted), BATCH):
        found |= keys_by_digest(wanted[start : start + BATCH])
    return found


def _find_members(workspace: Workspace, emails: Collection[str]) -> dict[str, int]:
    """Return the id of each member by e-mail address in lower case."""
    if not any(emails):
        return {}
    members = workspace.memberships.values_list("user__email", "user_id")
    return {email.lower(): user_id for email, user_id in members}


def _events(
    workspace: Workspace, rows: Sequence[ImportRow], keys: Sequence[ApiKey], actor: str
) -> Iterator[AuditEvent]:
    for row, key in zip(rows, keys, strict=True):
        set_limits = {name: value for name, value in row.limits.items() if value is not None}
        yield AuditEvent(
            workspace=workspace,
            actor=actor[:254],
            action="key.import",
            target=str(key.pk),
            details={
                **as_json(row.rules),
                **set_limits,
                "compat_profile": row.profile,
                "member": row.member,
                "by": DIGEST if row.by_digest else SECRET,
            },
        )
