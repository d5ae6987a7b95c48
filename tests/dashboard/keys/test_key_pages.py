"""The pages of keys: who sees what, what a form refuses, and the secret that is shown once."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEvent, Role, Workspace
from dashboard.forms.submit_once import new_form_token
from dashboard.keys.forms import rules_version
from keys.models import ApiKey
from keys.secret import digest_secret
from keys.services import set_compatibility
from tests.dashboard.visitors import HTMX, key_form, path_of, signed_in
from tests.factories import ACTOR, make_key, make_member, make_model, make_workspace

pytestmark = pytest.mark.django_db

LIST, NEW = "/keys", "/keys/new"
SECRET = re.compile(r"sk-gw-[\w-]{43}")


@pytest.fixture
def workspace() -> Workspace:
    return make_workspace()


def post_new(workspace: Workspace, role: str = Role.ADMIN, **fields: Any) -> Any:
    client = signed_in(make_member(workspace, role))
    return client.post(NEW, key_form(token=new_form_token()) | fields)


def test_the_list_shows_the_keys_of_this_workspace_alone(workspace: Workspace) -> None:
    make_key(workspace, label="Ours")
    make_key(make_workspace("Other"), label="Theirs")

    page = signed_in(make_member(workspace)).get(LIST).content.decode()

    assert "Ours" in page
    assert "Theirs" not in page


def test_who_may_not_see_all_keys_sees_their_own(workspace: Workspace) -> None:
    member = make_member(workspace, Role.BILLING)
    make_key(workspace, label="Somebody's")
    make_key(workspace, label="Mine", scopes=["completions"])
    ApiKey.objects.filter(label="Mine").update(created_by=member)

    page = signed_in(member).get(LIST).content.decode()

    assert "Mine" in page
    assert "Somebody's" not in page
    assert "New key" not in page


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("", {"Live"}),
        ("?state=expired", {"Late"}),
        ("?state=revoked", {"Gone"}),
        ("?state=all", {"Live", "Late", "Gone"}),
        ("?state=nonsense", {"Live"}),
        ("?state=nonsense&q=%00", set()),
        ("?state=all&q=lat", {"Late"}),
        ("?q=nothing-like-it", set()),
    ],
)
def test_the_list_is_filtered_by_its_address(
    workspace: Workspace, query: str, shown: set[str]
) -> None:
    make_key(workspace, label="Live")
    late, gone = make_key(workspace, label="Late").key, make_key(workspace, label="Gone").key
    ApiKey.objects.filter(pk=late.pk).update(expires_at=timezone.now() - timedelta(days=1))
    ApiKey.objects.filter(pk=gone.pk).update(revoked_at=timezone.now())

    page = signed_in(make_member(workspace)).get(LIST + query).content.decode()

    assert {name for name in ("Live", "Late", "Gone") if f">{name}</a>" in page} == shown


def test_a_key_is_found_by_the_end_of_its_secret(workspace: Workspace) -> None:
    issued = make_key(workspace, label="Wanted")
    make_key(workspace, label="Unwanted")

    page = signed_in(make_member(workspace)).get(LIST, {"q": issued.key.hint}).content.decode()

    assert ">Wanted</a>" in page
    assert ">Unwanted</a>" not in page


def test_older_keys_are_on_the_next_page(workspace: Workspace) -> None:
    for number in range(52):
        make_key(workspace, label=f"Key {number:02}")
    client = signed_in(make_member(workspace))

    first = client.get(LIST)
    second = client.get(first.context["table"].pager.older_url)

    assert [row.key.label for row in first.context["table"].items][::49] == ["Key 51", "Key 02"]
    assert [row.key.label for row in second.context["table"].items] == ["Key 01", "Key 00"]
    assert second.context["table"].pager.older_url == ""


def test_htmx_gets_the_table_and_everybody_else_the_page(workspace: Workspace) -> None:
    client = signed_in(make_member(workspace))

    part = client.get(LIST, headers=HTMX)
    back = client.get(LIST, headers=HTMX | {"HX-History-Restore-Request": "true"})

    assert part.content.strip().startswith(b'<section id="key-table"')
    assert b"<!doctype html>" in back.content
    assert "HX-Request" in part["Vary"]


def test_the_secret_is_in_the_answer_once_and_nowhere_else(workspace: Workspace) -> None:
    client = signed_in(make_member(workspace))

    answer = client.post(NEW, key_form(token=new_form_token()))
    secret = SECRET.findall(answer.content.decode())[0]
    key = ApiKey.objects.get()
    pages = [LIST, path_of("key-edit", key.pk), "/search?q=Checkout", "/"]
    rest = "".join(client.get(page).content.decode() for page in pages)

    assert answer.status_code == 201
    assert key.digest == digest_secret(secret)
    assert secret not in rest
    assert secret not in str(list(AuditEvent.objects.values()))
    assert "no-store" in answer["Cache-Control"]


def test_the_answer_has_a_curl_line_with_a_model_the_key_may_call(workspace: Workspace) -> None:
    make_model("first")
    make_model("second")

    answer = post_new(workspace, models_mode="some", allowed_models=["second"])

    assert "http://testserver/v1/chat/completions" in answer.context["curl"]
    assert '"model": "second"' in answer.context["curl"]


@pytest.mark.parametrize(("credit_nusd", "is_told"), [(0, True), (1, False)])
def test_without_credit_a_new_key_says_that_calls_are_refused(
    credit_nusd: int, is_told: bool
) -> None:
    page = post_new(make_workspace(credit_nusd=credit_nusd)).content.decode()

    assert ("The workspace has no credit." in page) is is_told


def test_a_form_sent_twice_makes_one_key(workspace: Workspace) -> None:
    client, form = signed_in(make_member(workspace)), key_form(token=new_form_token())

    answers = [client.post(NEW, form).status_code for _ in range(3)]

    assert answers == [201, 409, 409]
    assert ApiKey.objects.count() == 1


@pytest.mark.parametrize("token", ["", "made-up", "made:up:token"])
def test_a_form_that_is_not_ours_makes_no_key(workspace: Workspace, token: str) -> None:
    answer = signed_in(make_member(workspace)).post(NEW, key_form(token=token))

    assert answer.status_code == 409
    assert not ApiKey.objects.exists()


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("label", {"label": ""}),
        ("label", {"label": "a" * 81}),
        ("label", {"label": "two\x07bells"}),
        ("scopes", {"scopes": []}),
        ("scopes", {"scopes": ["root"]}),
        ("allowed_models", {"models_mode": "some"}),
        ("allowed_models", {"models_mode": "some", "allowed_models": ["unknown"]}),
        ("allowed_ips", {"ips_mode": "some", "allowed_ips": " \n"}),
        ("allowed_ips", {"ips_mode": "some", "allowed_ips": "203.0.113.7/24"}),
        ("allowed_ips", {"ips_mode": "some", "allowed_ips": "203.0.113.07"}),
        ("allowed_ips", {"ips_mode": "some", "allowed_ips": "fe80::1%eth0"}),
        ("allowed_ips", {"ips_mode": "some", "allowed_ips": "0.0.0.0/0"}),
        ("expires_at", {"expires": "on", "expires_at": ""}),
        ("expires_at", {"expires": "on", "expires_at": "2001-01-01T00:00"}),
        ("expires", {"expires": "someday"}),
    ],
)
def test_what_cannot_be_taken_is_named_and_nothing_is_made(
    workspace: Workspace, field: str, fields: dict[str, Any]
) -> None:
    answer = post_new(workspace, **fields)

    assert answer.status_code == 422
    assert field in answer.context["form"].errors
    assert not ApiKey.objects.exists()


def test_every_address_is_let_in_only_when_that_is_confirmed(workspace: Workspace) -> None:
    wide = {"ips_mode": "some", "allowed_ips": "::/0"}

    asked = post_new(workspace, **wide)
    answer = post_new(workspace, **wide, confirm_any_address="on")

    assert b"confirm_any_address" in asked.content
    assert answer.status_code == 201
    assert ApiKey.objects.get().allowed_ips == ["::/0"]


@pytest.mark.parametrize("role", [Role.BILLING, Role.VIEWER])
def test_roles_without_the_right_can_neither_make_nor_edit_nor_revoke(
    workspace: Workspace, role: str
) -> None:
    client, key = signed_in(make_member(workspace, role)), make_key(workspace).key
    ApiKey.objects.update(created_by=client.session["_auth_user_id"])
    urls = [NEW, f"/keys/{key.pk}", f"/keys/{key.pk}/revoke"]

    answers = [client.post(url, key_form(token=new_form_token())).status_code for url in urls]

    assert answers == [403, 403, 403]
    assert ApiKey.objects.get().is_usable


def test_an_edit_replaces_the_rules_and_is_in_the_ledger(workspace: Workspace) -> None:
    make_model("gpt")
    key, member = make_key(workspace).key, make_member(workspace)
    form = key_form(
        label="Renamed",
        models_mode="some",
        allowed_models=["gpt"],
        ips_mode="some",
        allowed_ips="203.0.113.7, 2001:DB8::/32\n",
        seen=rules_version(key),
    )

    answer = signed_in(member).post(f"/keys/{key.pk}", form, follow=True)

    key.refresh_from_db()
    assert (key.label, key.allowed_models) == ("Renamed", ["gpt"])
    assert key.allowed_ips == ["203.0.113.7/32", "2001:db8::/32"]
    assert AuditEvent.objects.filter(action="key.update", actor=member.email).exists()
    assert "Saved." in answer.content.decode()


def test_a_key_is_made_for_the_clients_of_a_product(workspace: Workspace) -> None:
    member = make_member(workspace)
    client = signed_in(member)

    form = key_form(token=new_form_token(), compat_profile="bud", allows_profile_override="")
    answer = client.post(NEW, form)

    key = ApiKey.objects.get()
    assert answer.status_code == 201
    assert (key.compat_profile, key.allows_profile_override) == ("bud", False)
    assert AuditEvent.objects.filter(action="key.compatibility", actor=member.email).exists()
    assert re.search(r" · Bud\s*<", client.get(LIST).content.decode())


def test_the_profile_of_a_key_is_changed_with_its_rules(workspace: Workspace) -> None:
    key = make_key(workspace).key
    client = signed_in(make_member(workspace))
    form = {"compat_profile": "inferada", "allows_chat_template": "on"}

    answer = client.post(f"/keys/{key.pk}", key_form(**form, seen=rules_version(key)), follow=True)

    changed = ApiKey.objects.get()
    assert (changed.label, changed.compat_profile) == ("Checkout", "inferada")
    assert changed.allows_chat_template
    assert rules_version(changed) != rules_version(key)
    assert "Compatibility changed" in answer.content.decode()


def test_nothing_is_changed_where_a_part_cannot_be(workspace: Workspace) -> None:
    key = make_key(workspace).key
    form = key_form(label="New", compat_profile="nobody", seen=rules_version(key))

    answer = signed_in(make_member(workspace)).post(f"/keys/{key.pk}", form)

    assert answer.status_code == 422
    assert ApiKey.objects.get().label == "A key"


def test_who_may_only_look_sees_the_profile(workspace: Workspace) -> None:
    key = make_key(workspace).key
    set_compatibility(key, compat_profile="bud", allows_profile_override=False, actor=ACTOR)

    page = signed_in(make_member(workspace, Role.VIEWER)).get(f"/keys/{key.pk}").content.decode()

    assert "Bud only" in page


def test_the_second_of_two_people_who_edit_at_once_is_told(workspace: Workspace) -> None:
    key, client = make_key(workspace).key, signed_in(make_member(workspace))
    seen = rules_version(key)

    client.post(f"/keys/{key.pk}", key_form(label="First", seen=seen))
    late = client.post(f"/keys/{key.pk}", key_form(label="Second", seen=seen))

    assert late.status_code == 409
    assert '<a href="">reload the page</a>' in late.content.decode()
    assert ApiKey.objects.get().label == "First"


def test_revoking_asks_first_and_then_holds(workspace: Workspace) -> None:
    key, client = make_key(workspace).key, signed_in(make_member(workspace))
    url = f"/keys/{key.pk}/revoke"

    question = client.get(url, headers=HTMX)
    asked_only = ApiKey.objects.get().is_usable
    answers = [client.post(url).status_code for _ in range(2)]

    assert b"cannot be undone" in question.content
    assert asked_only
    assert answers == [302, 302]
    assert ApiKey.objects.get().revoked_at is not None
    assert AuditEvent.objects.filter(action="key.revoke").count() == 1


def test_a_revoked_key_can_be_looked_at_but_not_edited(workspace: Workspace) -> None:
    key, client = make_key(workspace).key, signed_in(make_member(workspace))
    client.post(f"/keys/{key.pk}/revoke")

    page = client.get(f"/keys/{key.pk}")
    answer = client.post(f"/keys/{key.pk}", key_form(label="Risen", seen=rules_version(key)))

    assert page.context["form"] is None
    assert answer.status_code in (409, 422)
    assert ApiKey.objects.get().label == "A key"
