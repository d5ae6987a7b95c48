"""What a developer makes stays within what they were given, on pages and by any other way."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.exceptions import PermissionDenied, ValidationError
from django.utils import timezone

from accounts.models import AuditEvent, Role, User, Workspace
from dashboard.forms.submit_once import new_form_token
from dashboard.keys.forms import rules_version
from keys import member_actions
from keys.limits import limits_of
from keys.models import ApiKey
from keys.services import set_compatibility, set_developer_key_policy, set_limits
from tests.dashboard.visitors import key_form, seen_on, signed_in
from tests.factories import ACTOR, make_key, make_member, make_model, make_workspace

USD = 10**9
FREE: dict[str, Any] = {
    "max_keys": None,
    "scopes": ["completions", "usage"],
    "allowed_models": [],
    "allowed_ips": None,
    "limits": {},
    "allows_chat_template": True,
}


def set_policy(workspace: Workspace, **fields: Any) -> None:
    set_developer_key_policy(workspace, actor=ACTOR, **(FREE | fields))


def post_new(person: User, **fields: Any) -> Any:
    return signed_in(person).post("/keys/new", key_form(token=new_form_token()) | fields)


def post_edit(person: User, key: ApiKey, **fields: Any) -> Any:
    key.refresh_from_db()
    form = key_form(label=key.label, seen=rules_version(key)) | fields
    return signed_in(person).post(f"/keys/{key.pk}", form)


@pytest.fixture
def workspace(db: None) -> Workspace:
    return make_workspace()


@pytest.fixture
def developer(workspace: Workspace) -> User:
    return make_member(workspace, Role.DEVELOPER)


def test_a_developer_neither_loosens_nor_revokes_the_key_of_an_owner(
    workspace: Workspace, developer: User
) -> None:
    make_model("gpt")
    key, _ = make_key(
        workspace,
        created_by=make_member(workspace, Role.OWNER),
        allowed_models=["gpt"],
        allowed_ips=["203.0.113.7"],
    )
    set_limits(key, limits={"daily_limit_nusd": 3 * USD}, actor=ACTOR)
    row, client = ApiKey.objects.values().get(), signed_in(developer)

    edited = post_edit(developer, key, daily_limit_nusd="100000")
    revoked = client.post(f"/keys/{key.pk}/revoke")
    reset = client.post(f"/keys/{key.pk}/reset-total")
    page = client.get(f"/keys/{key.pk}")

    assert [edited.status_code, revoked.status_code, reset.status_code] == [403, 403, 403]
    assert ApiKey.objects.values().get() == row
    assert member_actions.REFUSED in page.content.decode()
    assert member_actions.REFUSED in edited.content.decode()
    assert b'type="submit">Save' not in page.content
    assert b"/revoke" not in page.content


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("daily_limit_nusd", {"daily_limit_nusd": "100000"}),
        ("daily_limit_nusd", {"daily_limit_nusd": ""}),
        ("max_requests_per_minute", {"max_requests_per_minute": "61"}),
        ("burst", {"max_requests_per_minute": "59", "burst": "61"}),
        ("max_concurrent", {"max_concurrent": ""}),
        ("scopes", {"scopes": ["completions", "usage", "files"]}),
        ("allowed_models", {"models_mode": "all"}),
        ("allowed_models", {"allowed_models": ["gpt", "other"]}),
        ("allowed_ips", {"ips_mode": "all"}),
        ("allowed_ips", {"allowed_ips": "203.0.113.0/24"}),
        ("expires_at", {"expires": "never"}),
        ("expires_at", {"expires": "90d"}),
        ("allows_chat_template", {"allows_chat_template": "on"}),
        ("compat_profile", {"allows_profile_override": "on"}),
    ],
)
def test_a_developer_widens_nothing_on_a_key_of_their_own(
    workspace: Workspace, developer: User, field: str, fields: dict[str, Any]
) -> None:
    make_model("gpt")
    make_model("other")
    key = _narrow_key(workspace, developer)
    row = ApiKey.objects.values().get()

    answer = post_edit(developer, key, **(_narrow_form(key) | fields))

    assert answer.status_code == 422
    assert set(answer.context["form"].errors) == {field}
    assert ApiKey.objects.values().get() == row


def test_a_developer_renames_and_tightens_a_key_of_their_own(
    workspace: Workspace, developer: User
) -> None:
    make_model("gpt")
    key = _narrow_key(workspace, developer)
    tighter = {
        "label": "Renamed",
        "daily_limit_nusd": "1",
        "monthly_limit_nusd": "5",
        "scopes": ["completions"],
        "max_concurrent": "1",
        "expires": "7d",
    }

    answer = post_edit(developer, key, **(_narrow_form(key) | tighter))

    key.refresh_from_db()
    assert answer.status_code == 302
    assert (key.label, key.scopes, key.max_concurrent) == ("Renamed", ["completions"], 1)
    assert (key.daily_limit_nusd, key.monthly_limit_nusd) == (USD, 5 * USD)


@pytest.mark.parametrize("role", [Role.OWNER, Role.ADMIN])
def test_owners_and_admins_widen_any_key(workspace: Workspace, developer: User, role: str) -> None:
    make_model("gpt")
    set_policy(workspace, limits={"daily_limit_nusd": USD})
    key = _narrow_key(workspace, developer)

    answer = post_edit(make_member(workspace, role), key, daily_limit_nusd="100")

    key.refresh_from_db()
    assert answer.status_code == 302
    assert (key.daily_limit_nusd, key.allowed_models) == (100 * USD, [])
    assert (key.allowed_ips, key.expires_at) == (None, None)


def _narrow_key(workspace: Workspace, person: User) -> ApiKey:
    key, _ = make_key(
        workspace,
        created_by=person,
        scopes=["completions", "usage"],
        allowed_models=["gpt"],
        allowed_ips=["203.0.113.7"],
        expires_at=timezone.now() + timedelta(days=30),
    )
    limits = {"daily_limit_nusd": 3 * USD, "max_requests_per_minute": 60, "max_concurrent": 2}
    set_limits(key, limits=limits, actor=ACTOR)
    set_compatibility(key, compat_profile="bud", allows_profile_override=False, actor=ACTOR)
    return key


def _narrow_form(key: ApiKey) -> dict[str, Any]:
    assert key.expires_at is not None
    return {
        "models_mode": "some",
        "allowed_models": ["gpt"],
        "ips_mode": "some",
        "allowed_ips": "203.0.113.7",
        "expires": "on",
        "expires_at": f"{key.expires_at:%Y-%m-%dT%H:%M}",
        "daily_limit_nusd": "3",
        "max_requests_per_minute": "60",
        "max_concurrent": "2",
        "compat_profile": "bud",
        "allows_profile_override": "",
    }


@pytest.mark.parametrize(
    ("field", "policy", "fields"),
    [
        ("daily_limit_nusd", {"limits": {"daily_limit_nusd": 3 * USD}}, {}),
        ("total_limit_nusd", {"limits": {"total_limit_nusd": USD}}, {"total_limit_nusd": "2"}),
        ("max_concurrent", {"limits": {"max_concurrent": 4}}, {"max_concurrent": "5"}),
        ("scopes", {"scopes": ["completions"]}, {"scopes": ["completions", "usage"]}),
        ("allowed_models", {"allowed_models": ["gpt"]}, {}),
        ("allowed_ips", {"allowed_ips": ["203.0.113.0/24"]}, {}),
        ("allows_chat_template", {"allows_chat_template": False}, {"allows_chat_template": "on"}),
    ],
)
def test_a_new_key_of_a_developer_stays_within_the_maximum(
    workspace: Workspace,
    developer: User,
    field: str,
    policy: dict[str, Any],
    fields: dict[str, Any],
) -> None:
    make_model("gpt")
    set_policy(workspace, **policy)

    answer = post_new(developer, **fields)
    by_admin = post_new(make_member(workspace, Role.ADMIN), **fields)

    assert answer.status_code == 422
    assert set(answer.context["form"].errors) == {field}
    assert by_admin.status_code == 201
    assert ApiKey.objects.count() == 1


def test_the_form_of_a_new_key_starts_from_the_maximum(
    workspace: Workspace, developer: User
) -> None:
    make_model("gpt")
    make_model("other")
    set_policy(
        workspace,
        limits={"daily_limit_nusd": 3 * USD, "max_requests_per_minute": 60},
        scopes=["completions"],
        allowed_models=["gpt"],
        allowed_ips=["203.0.113.0/24"],
    )

    page = signed_in(developer).get("/keys/new")
    form = page.context["form"]
    shown = {field.name: field.value() for field in form if field.value() not in (None, "")}
    answer = post_new(developer, **(shown | {"label": "As shown"}))

    key = ApiKey.objects.get()
    assert "$3.00 per day" in page.content.decode()
    assert [name for name, _ in form.fields["allowed_models"].choices] == ["gpt"]
    assert answer.status_code == 201
    assert (key.daily_limit_nusd, key.allowed_models) == (3 * USD, ["gpt"])
    assert (key.allowed_ips, key.scopes) == (["203.0.113.0/24"], ["completions"])


def test_a_developer_makes_as_many_keys_as_the_maximum_says_and_revoking_makes_no_room(
    workspace: Workspace, developer: User
) -> None:
    set_policy(workspace, max_keys=2, limits={"daily_limit_nusd": USD})
    fields = {"daily_limit_nusd": "1"}

    made = [post_new(developer, **fields).status_code for _ in range(2)]
    signed_in(developer).post(f"/keys/{ApiKey.objects.latest('pk').pk}/revoke")
    refused = post_new(developer, **fields)
    last_month = timezone.now().replace(day=1) - timedelta(days=2)
    ApiKey.objects.filter(revoked_at__isnull=False).update(revoked_at=last_month)

    assert made == [201, 201]
    assert refused.status_code == 422
    assert "Developers may have 2 keys here" in refused.content.decode()
    assert post_new(developer, **fields).status_code == 201


def test_a_key_under_the_installations_limit_does_not_get_out_from_under_it(
    workspace: Workspace, developer: User, settings: Any
) -> None:
    settings.KEY_REQUESTS_PER_MINUTE = 60

    answer = post_new(developer, max_requests_per_minute="1000")

    assert answer.status_code == 422
    assert set(answer.context["form"].errors) == {"max_requests_per_minute"}
    assert post_new(developer, max_requests_per_minute="30").status_code == 201
    assert django_settings.KEY_REQUESTS_PER_MINUTE == 60


def test_a_developer_who_lost_their_role_changes_nothing_from_that_moment(
    workspace: Workspace, developer: User
) -> None:
    key, _ = make_key(workspace, created_by=developer, scopes=["completions"])
    client = signed_in(developer)
    allowed = client.get(f"/keys/{key.pk}/revoke").status_code
    workspace.memberships.filter(user=developer).update(role=Role.VIEWER)

    refused = client.post(f"/keys/{key.pk}/revoke").status_code

    key.refresh_from_db()
    assert (allowed, refused) == (200, 403)
    assert key.revoked_at is None


def test_a_key_with_a_scope_above_its_maker_is_revoked_by_them_but_not_edited(
    workspace: Workspace, developer: User
) -> None:
    key, _ = make_key(workspace, scopes=["completions", "usage.workspace"])
    ApiKey.objects.update(created_by=developer)

    page = signed_in(developer).get(f"/keys/{key.pk}").content.decode()
    edited = post_edit(developer, key, scopes=["completions"])
    revoked = signed_in(developer).post(f"/keys/{key.pk}/revoke")

    key.refresh_from_db()
    assert member_actions.ABOVE in page
    assert edited.status_code == 403
    assert key.scopes == ["completions", "usage.workspace"]
    assert revoked.status_code == 302
    assert key.revoked_at is not None


def test_by_whatever_way_a_member_comes_the_rule_is_the_same(
    workspace: Workspace, developer: User
) -> None:
    key, _ = make_key(workspace)
    whole: dict[str, Any] = {
        "rules": {"label": "x", "scopes": key.scopes, "allowed_models": [], "allowed_ips": None},
        "compatibility": {"compat_profile": ""},
        "limits": limits_of(key),
    }
    whole["rules"]["expires_at"] = None
    viewer = make_member(workspace, Role.VIEWER)

    with pytest.raises(PermissionDenied):
        member_actions.change_key(key, person=developer, **whole)
    with pytest.raises(PermissionDenied):
        member_actions.revoke_key(key, person=developer)
    with pytest.raises(PermissionDenied):
        member_actions.reset_total(key, spent_nusd=1, person=developer)
    with pytest.raises(PermissionDenied):
        member_actions.create_key(workspace=workspace, person=viewer, **whole)

    assert ApiKey.objects.get().label == "A key"


def test_the_maximum_is_set_on_its_page_by_owners_and_admins(
    workspace: Workspace, developer: User
) -> None:
    make_model("gpt")
    form = {
        "max_keys": "5",
        "daily_limit_nusd": "3",
        "models_mode": "some",
        "allowed_models": ["gpt"],
        "ips_mode": "some",
        "allowed_ips": "203.0.113.0/24",
        "scopes": ["completions"],
    }
    admin = signed_in(make_member(workspace, Role.ADMIN))

    refused = signed_in(developer).post("/settings/developer-keys", form)
    form |= seen_on(admin, "/settings/developer-keys")
    saved = admin.post("/settings/developer-keys", form, follow=True)
    late = admin.post("/settings/developer-keys", form | {"max_keys": "9"})
    wrong = admin.post("/settings/developer-keys", form | {"max_keys": "0", "allowed_ips": "x"})

    policy = workspace.developer_key_policy
    assert refused.status_code == 403
    assert "$3.00 per day" in saved.content.decode()
    assert (policy.max_keys, policy.daily_limit_nusd) == (5, 3 * USD)
    assert (policy.allowed_models, policy.scopes) == (["gpt"], ["completions"])
    assert AuditEvent.objects.filter(action="workspace.set_developer_key_policy").count() == 1
    assert wrong.status_code == 422
    assert late.status_code == 409


def test_a_maximum_that_cannot_be_taken_is_refused(workspace: Workspace) -> None:
    for fields in ({"max_keys": 0}, {"max_keys": 10**9}, {"limits": {"daily_limit_nusd": 0}}):
        with pytest.raises(ValidationError):
            set_policy(workspace, **fields)
