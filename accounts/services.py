"""The only module that writes workspaces, people and memberships. Money is in accounts.ledger."""

from __future__ import annotations

from itertools import count

from allauth.mfa.models import Authenticator
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.text import slugify

from accounts import ledger
from accounts.all_errors import raising_all
from accounts.changes import differences, record_audit, record_change
from accounts.limits import read_call_limits
from accounts.models import ConfigChange, Membership, Role, User, Workspace
from accounts.permissions import roles_given_by
from accounts.text import read_line
from gateway.core.money import MAX_NUSD
from gateway.core.profiles import BY_NAME

NAME_CHARS = 80
PERSON_CHARS = 120
REASON_CHARS = 200
LAST_OWNER = "last_owner"  # code of the error that a workspace would be left without an owner
_SLUG_CHARS = 70  # leaves room for the number that makes it unique


def read_name(text: str) -> str:
    """Return the name of a workspace, one visible line. Raises ValidationError."""
    return read_line(text, field="name", max_chars=NAME_CHARS)


def check_credit(credit_nusd: int) -> None:
    """Raises ValidationError for initial credit that cannot be held."""
    if not 0 <= credit_nusd <= MAX_NUSD:
        raise ValidationError({"credit": "The initial credit is negative or too large."})


@transaction.atomic
def create_workspace(
    *, name: str, credit_nusd: int = 0, owner: User | None = None, actor: str
) -> Workspace:
    """Create a workspace with its wallet, and give it credit and an owner when asked to.

    credit_nusd: what it starts with, in nano-USD. Names may repeat; the slug is made unique.
    Raises ValidationError when the name is not one visible line or the credit cannot be held.
    """
    with raising_all() as gather:
        with gather():
            name = read_name(name)
        with gather():
            check_credit(credit_nusd)
    workspace = _insert_with_free_slug(name)
    ledger.open_wallet(workspace)
    record_audit(
        actor=actor,
        action="workspace.create",
        target=workspace.slug,
        workspace=workspace,
        details={"name": name},
    )
    if owner is not None:
        add_member(workspace, user=owner, role=Role.OWNER, actor=actor)
    if credit_nusd:
        ledger.grant(workspace, amount_nusd=credit_nusd, actor=actor, reason="Initial credit")
    return workspace


def _insert_with_free_slug(name: str) -> Workspace:
    stem = slugify(name)[:_SLUG_CHARS].strip("-_") or "workspace"
    for number in count(1):
        slug = stem if number == 1 else f"{stem}-{number}"
        if Workspace.objects.filter(slug=slug).exists():
            continue
        try:
            with transaction.atomic():
                return Workspace.objects.create(name=name, slug=slug)
        except IntegrityError:  # somebody took it in between: try the next number
            continue
    raise AssertionError("count() does not end")


@transaction.atomic
def create_user(
    *,
    email: str,
    password: str | None = None,
    name: str = "",
    is_operator: bool = False,
    actor: str,
) -> User:
    """Create a person who can sign in. Without a password they cannot until they set one.

    Raises ValidationError when the address is not one or is taken, when the name is not one visible
    line, or the password is too weak.
    """
    email = read_line(email, field="email", max_chars=254).lower()
    user = User(email=email, name=_read_name(name), is_operator=is_operator)
    if password is not None:
        try:
            validate_password(password, user)
        except ValidationError as error:
            raise ValidationError({"password": error.messages}) from None
    user.set_password(password)
    user.full_clean()
    user.save()
    record_audit(
        actor=actor, action="user.create", target=email, details={"is_operator": is_operator}
    )
    return user


def rename_user(user: User, *, name: str, actor: str) -> bool:
    """Give a person another name, or with an empty one none. Returns False when it is theirs.

    Raises ValidationError when it is not one visible line.
    """
    name = _read_name(name)
    with transaction.atomic():
        before = User.objects.values_list("name", flat=True).get(pk=user.pk)
        if before == name:
            return False
        User.objects.filter(pk=user.pk).update(name=name)
        details = {"name": [before, name]}
        record_audit(actor=actor, action="user.rename", target=user.email, details=details)
    user.name = name
    return True


def _read_name(name: str) -> str:
    return read_line(name, field="name", max_chars=PERSON_CHARS) if name.strip() else ""


def set_password(user: User, *, password: str, actor: str, forget_factors: bool = False) -> None:
    """Give a person a new password; every session of theirs ends with the old one.

    forget_factors: also take away codes and passkeys, for somebody who lost their phone.
    Raises ValidationError when the password is too weak.
    """
    validate_password(password, user)
    user.set_password(password)
    with transaction.atomic():
        user.save(update_fields=["password"])
        if forget_factors:
            Authenticator.objects.filter(user=user).delete()
        record_audit(
            actor=actor,
            action="user.set_password",
            target=user.email,
            details={"forget_factors": forget_factors},
        )


@transaction.atomic
def add_member(
    workspace: Workspace, *, user: User, role: str, actor: str, asked_by: User | None = None
) -> Membership:
    """Make a person a member.

    asked_by: the person who asks, if one does; they give no role that is not theirs to give.
    Raises ValidationError when they are one already, and for a role that cannot be given.
    """
    role = read_role(role, asked_by, workspace)
    membership, is_new = Membership.objects.get_or_create(
        workspace=workspace, user=user, defaults={"role": role}
    )
    if not is_new:
        raise ValidationError({"user": f"{user.email} is already a member of {workspace}."})
    _record_member(membership, actor=actor, action="member.add", details={"role": role})
    return membership


@transaction.atomic
def change_role(
    membership: Membership, *, role: str, actor: str, asked_by: User | None = None
) -> bool:
    """Give a member another role. Returns False when it is theirs already.

    asked_by: as in add_member; it concerns the role they had as well.
    Raises ValidationError when the workspace would be left without an owner, when the role is
    not one that may be given, and when the person is no member any more.
    """
    before = _held_role(membership, asked_by)
    role = read_role(role, asked_by, membership.workspace)
    if before == role:
        return False
    _refuse_to_leave_ownerless(membership, before, field="role")
    Membership.objects.filter(pk=membership.pk).update(role=role)
    membership.role = role
    _record_member(
        membership, actor=actor, action="member.change_role", details={"role": [before, role]}
    )
    return True


@transaction.atomic
def remove_member(membership: Membership, *, actor: str, asked_by: User | None = None) -> None:
    """End a membership. What becomes of the keys they made is for keys.memberships to say.

    asked_by: the person who asks, if one does. Everybody may leave by themselves.
    Raises ValidationError as change_role does.
    """
    is_leaving = asked_by is not None and asked_by.pk == membership.user_id
    role = _held_role(membership, None if is_leaving else asked_by)
    _refuse_to_leave_ownerless(membership, role, field=None)
    Membership.objects.filter(pk=membership.pk).delete()
    _record_member(membership, actor=actor, action="member.remove", details={"role": role})


def read_role(role: str, asked_by: User | None, workspace: Workspace) -> str:
    """Return the role. Raises ValidationError unless it is one that this person may give.

    asked_by: None for commands and our own doing, which may give any.
    """
    if role not in Role.values:
        raise ValidationError({"role": f"The role must be one of {', '.join(Role.values)}."})
    if asked_by is not None and role not in roles_given_by(asked_by, workspace):
        raise ValidationError({"role": f"You cannot assign or remove the role {role}."})
    return role


def _held_role(membership: Membership, asked_by: User | None) -> str:
    """Return the role as it is now, once no other change of this workspace's members runs.

    Writing to the workspace's row makes them wait for each other, so that two owners cannot step
    down at the same moment.
    """
    workspace = membership.workspace
    Workspace.objects.filter(pk=workspace.pk).update(slug=workspace.slug)
    role = Membership.objects.filter(pk=membership.pk).values_list("role", flat=True).first()
    if role is None:
        raise ValidationError("This person is no longer a member.")
    return read_role(role, asked_by, workspace)


def _refuse_to_leave_ownerless(membership: Membership, role: str, *, field: str | None) -> None:
    others = Membership.objects.filter(workspace=membership.workspace, role=Role.OWNER)
    if role == Role.OWNER and not others.exclude(pk=membership.pk).exists():
        words = f"{membership.workspace} needs an owner. Make another member an owner first."
        error = ValidationError(words, code=LAST_OWNER)
        raise ValidationError({field: error}) if field else error


def _record_member(
    membership: Membership, *, actor: str, action: str, details: dict[str, object]
) -> None:
    # What keys of theirs may do depends on their role.
    record_change(ConfigChange.Kind.WORKSPACE, membership.workspace.pk.hex)
    record_audit(
        actor=actor,
        action=action,
        target=membership.user.email,
        workspace=membership.workspace,
        details=details,
    )


def rename_workspace(workspace: Workspace, *, name: str, actor: str) -> bool:
    """Give the workspace another name; its slug stays. Returns False when it has that name."""
    name = read_line(name, field="name", max_chars=NAME_CHARS)
    before = workspace.name
    with transaction.atomic():
        changed = Workspace.objects.filter(pk=workspace.pk).exclude(name=name).update(name=name)
        if changed:
            _record(
                workspace, actor=actor, action="workspace.rename", details={"name": [before, name]}
            )
    workspace.refresh_from_db(fields=["name"])
    return changed == 1


def lock_workspace(workspace: Workspace, *, reason: str, actor: str) -> bool:
    """Refuse all its calls from now on. Returns False when it was locked already."""
    reason = read_line(reason, field="reason", max_chars=REASON_CHARS)
    with transaction.atomic():
        changed = Workspace.objects.filter(pk=workspace.pk, locked_at=None).update(
            locked_at=timezone.now(), locked_reason=reason
        )
        if changed:
            _record(workspace, actor=actor, action="workspace.lock", details={"reason": reason})
    workspace.refresh_from_db(fields=["locked_at", "locked_reason"])
    return changed == 1


def unlock_workspace(workspace: Workspace, *, actor: str) -> bool:
    """Admit its calls again. Returns False when it was not locked."""
    with transaction.atomic():
        changed = Workspace.objects.filter(pk=workspace.pk, locked_at__isnull=False).update(
            locked_at=None, locked_reason=""
        )
        if changed:
            _record(workspace, actor=actor, action="workspace.unlock", details={})
    workspace.refresh_from_db(fields=["locked_at", "locked_reason"])
    return changed == 1


def set_stores_bodies(workspace: Workspace, *, stores_bodies: bool, actor: str) -> bool:
    """Keep what is asked and answered, or stop to. Returns False when nothing changes."""
    with transaction.atomic():
        changed = Workspace.objects.filter(pk=workspace.pk, stores_bodies=not stores_bodies).update(
            stores_bodies=stores_bodies
        )
        if changed:
            _record(
                workspace,
                actor=actor,
                action="workspace.set_stores_bodies",
                details={"stores_bodies": [not stores_bodies, stores_bodies]},
            )
    workspace.refresh_from_db(fields=["stores_bodies"])
    return changed == 1


def set_profile(workspace: Workspace, *, compat_profile: str, actor: str) -> bool:
    """Set which product's clients those keys serve that do not say. False: nothing changes.

    compat_profile: a row of gateway.core.profiles, or empty for the installation's.
    Raises ValidationError for any other.
    """
    if compat_profile and compat_profile not in BY_NAME:
        known = ", ".join(BY_NAME)
        raise ValidationError({"compat_profile": f"The profile must be one of {known}."})
    with transaction.atomic():
        before = Workspace.objects.values_list("compat_profile", flat=True).get(pk=workspace.pk)
        changed = (
            Workspace.objects.filter(pk=workspace.pk)
            .exclude(compat_profile=compat_profile)
            .update(compat_profile=compat_profile)
        )
        if changed:
            _record(
                workspace,
                actor=actor,
                action="workspace.set_profile",
                details={"compat_profile": [before, compat_profile]},
            )
    workspace.refresh_from_db(fields=["compat_profile"])
    return changed == 1


def set_call_limits(
    workspace: Workspace,
    *,
    max_requests_per_minute: int | None = None,
    burst: int | None = None,
    max_concurrent: int | None = None,
    actor: str,
) -> bool:
    """Set how much all keys of a workspace may call together. False: nothing changes.

    None is no limit. burst: how many calls may come at once, as many as in a minute where it is
    not said. max_concurrent: how many may run at a time; others wait for their turn.
    Raises ValidationError for what is no such number.
    """
    wanted = read_call_limits(
        {
            "max_requests_per_minute": max_requests_per_minute,
            "burst": burst,
            "max_concurrent": max_concurrent,
        }
    )
    with transaction.atomic():
        details = differences(Workspace.objects.get(pk=workspace.pk), wanted)
        if details:
            Workspace.objects.filter(pk=workspace.pk).update(**wanted)
            _record(workspace, actor=actor, action="workspace.set_limits", details=details)
    workspace.refresh_from_db(fields=list(wanted))
    return bool(details)


def _record(workspace: Workspace, *, actor: str, action: str, details: dict[str, object]) -> None:
    record_change(ConfigChange.Kind.WORKSPACE, workspace.pk.hex)
    record_audit(
        actor=actor, action=action, target=workspace.slug, workspace=workspace, details=details
    )
