"""Importing keys on the pages: a file shown first, a single secret, and nothing shown again."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from accounts.models import AuditEvent, Role, Workspace
from dashboard.forms.submit_once import new_form_token
from keys.models import ApiKey, KeyImport
from keys.secret import digest_secret
from tests.dashboard.visitors import HTMX, Visitor, key_form, path_of, signed_in
from tests.factories import make_key, make_member, make_user, make_workspace

pytestmark = pytest.mark.django_db

IMPORT, NEW = "/keys/import", "/keys/new"
ONE = "sk-proj-9fJ2kQ7vTz1xWm4bRc8nLd5y"
TWO = "rpk_b81c04d7e95f2a6c3d80e1f7a4b92c65"
FILE = f"secret,name,daily_usd\n{ONE},Checkout,25\n{TWO},Nightly,\n"


@pytest.fixture
def workspace() -> Workspace:
    return make_workspace()


@pytest.fixture
def admin(workspace: Workspace) -> Visitor:
    return signed_in(make_member(workspace, Role.ADMIN))


def upload(client: Visitor, text: str) -> Any:
    return client.post(IMPORT, {"file": SimpleUploadedFile("keys.csv", text.encode())})


@pytest.mark.parametrize("is_pasted", [False, True])
def test_a_file_is_shown_and_imported_when_that_is_confirmed(
    admin: Visitor, is_pasted: bool
) -> None:
    sent = admin.post(IMPORT, {"text": FILE}) if is_pasted else upload(admin, FILE)
    preview = admin.get(sent["Location"])
    before = ApiKey.objects.count()
    done = admin.post(sent["Location"], follow=True)
    again = admin.post(sent["Location"], follow=True)

    page = preview.content.decode()
    assert "Import 2 keys?" in page
    assert "sk-proj-…Ld5y" in page
    assert "$25" in page
    assert before == 0
    assert "2 keys are imported" in done.content.decode()
    assert "already imported" in again.content.decode()
    assert {key.digest for key in ApiKey.objects.all()} == {digest_secret(s) for s in (ONE, TWO)}
    everything = page + done.content.decode() + str(list(KeyImport.objects.values()))
    everything += str(list(AuditEvent.objects.values()))
    assert ONE not in everything
    assert TWO not in everything


def test_what_is_wrong_is_listed_by_line_and_nothing_is_imported(admin: Visitor) -> None:
    answer = upload(admin, f"secret,name\n{ONE},Good\nsk-1234,Weak\n{TWO}\n")

    page = answer.content.decode()
    assert answer.status_code == 422
    assert re.findall(r"<li>(line \d+)", page) == ["line 3", "line 4"]
    assert "Choose the file again." in page
    assert ONE not in page
    assert not ApiKey.objects.exists()
    assert not KeyImport.objects.exists()


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({}, "Choose a file, or paste its content."),
        ({"text": FILE, "file": SimpleUploadedFile("k.csv", b"secret\n")}, "not both"),
        ({"text": "nothing"}, "name the columns"),
        ({"file": SimpleUploadedFile("k.csv", b"x" * (1024 * 1024 + 1))}, "1024 KB"),
        ({"file": SimpleUploadedFile("k.xlsx", b"PK\x03\x04\0\0")}, "UTF-8"),
    ],
)
def test_what_is_no_file_of_keys_is_refused(
    admin: Visitor, form: dict[str, Any], words: str
) -> None:
    answer = admin.post(IMPORT, form)

    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert ONE not in answer.content.decode()


@pytest.mark.parametrize("text", [f"secret\n{ONE}\nsk-1234\n", "nothing", "secret,secret\na,b"])
def test_who_pasted_keys_is_told_why_they_are_gone(admin: Visitor, text: str) -> None:
    answer = admin.post(IMPORT, {"text": text})

    page = answer.content.decode()
    assert answer.status_code == 422
    assert "Enter this again. It is secret, so the page does not show it." in page
    assert ONE not in page
    assert "Enter this again" not in admin.get(IMPORT).content.decode()


def test_what_is_pasted_beyond_the_size_of_forms_is_told_so(admin: Visitor) -> None:
    answer = admin.post(IMPORT, {"text": "x" * 300_000})

    assert answer.status_code == 413
    assert "takes a file" in answer.content.decode()


def test_keys_that_are_here_stay_and_are_counted(admin: Visitor) -> None:
    admin.post(upload(admin, FILE)["Location"])

    preview = admin.get(upload(admin, FILE)["Location"]).content.decode()

    assert "Nothing to import" in preview
    assert "2 are already in this workspace and will not change" in preview


def test_a_digest_is_for_operators(workspace: Workspace, admin: Visitor) -> None:
    text = f"sha256\n{digest_secret(ONE)}\n"
    operator = signed_in(make_user(is_operator=True))

    refused = upload(admin, text).content.decode()
    sent = upload(operator, text)
    preview = operator.get(sent["Location"]).content.decode()
    operator.post(sent["Location"])

    assert "Only operators can import keys by digest" in refused
    assert "known only by digest" in preview
    assert ApiKey.objects.get().digest == digest_secret(ONE)


def test_a_single_key_is_imported_with_all_rules_of_a_new_one(admin: Visitor) -> None:
    form = key_form(
        token=new_form_token(),
        secret_mode="imported",
        secret=f" {ONE}\n",
        daily_limit_nusd="3",
        compat_profile="bud",
    )

    answer = admin.post(NEW, form, headers=HTMX)

    key = ApiKey.objects.get()
    page = admin.get(f"/keys/{key.pk}").content.decode()
    assert answer.status_code == 204
    assert answer["HX-Redirect"].endswith(f"/keys/{key.pk}")
    assert (key.digest, key.is_imported) == (digest_secret(ONE), True)
    assert (key.daily_limit_nusd, key.compat_profile) == (3_000_000_000, "bud")
    assert "issued elsewhere" in page
    assert ONE not in page + str(list(AuditEvent.objects.values()))


@pytest.mark.parametrize("secret", ["", "sk-1234", "two words", "known"])
def test_a_single_key_that_cannot_be_imported_is_named_and_not_repeated(
    workspace: Workspace, admin: Visitor, secret: str
) -> None:
    known = make_key(make_workspace("Secret Industries")).secret
    form = key_form(token=new_form_token(), secret_mode="imported")

    answer = admin.post(NEW, form | {"secret": known if secret == "known" else secret})

    assert answer.status_code == 422
    assert "secret" in answer.context["form"].errors
    assert known not in answer.content.decode()
    assert "Secret Industries" not in answer.content.decode()
    assert not workspace.keys.exists()


def test_a_developer_makes_keys_and_imports_none(workspace: Workspace) -> None:
    developer = signed_in(make_member(workspace, Role.DEVELOPER))
    form = key_form(token=new_form_token(), secret_mode="imported", secret=ONE)

    page = developer.get(NEW).content.decode()
    answer = developer.post(NEW, form)

    assert "issued elsewhere" not in page
    assert answer.status_code == 201
    assert ApiKey.objects.get().digest != digest_secret(ONE)
    assert developer.get(IMPORT).status_code == 403


@pytest.mark.parametrize(
    ("profile", "prefix", "start"),
    [
        ("", "", "sk-gw-"),
        ("inferada", "", "inf_"),
        ("infery", "", "inf_"),
        ("bud", "", "bud_client_"),
        ("bud", "bud_admin_", "bud_admin_"),
        ("hyperinfer", "", "hi-"),
        ("inferexchange", "", "sk-infer-"),
        ("", "sk-t0-", "sk-t0-"),
    ],
)
def test_a_key_begins_as_its_profile_s_do_or_as_chosen(
    admin: Visitor, profile: str, prefix: str, start: str
) -> None:
    form = key_form(token=new_form_token(), compat_profile=profile, key_prefix=prefix)

    answer = admin.post(NEW, form)

    secret = answer.context["secret"]
    key = ApiKey.objects.get()
    assert re.fullmatch(re.escape(start) + r"[\w-]{43}", secret)
    assert (key.prefix, key.digest) == (start, digest_secret(secret))


def test_a_key_begins_as_the_workspace_s_profile_says(workspace: Workspace, admin: Visitor) -> None:
    Workspace.objects.update(compat_profile="hyperinfer")

    answer = admin.post(NEW, key_form(token=new_form_token()))

    assert answer.context["secret"].startswith("hi-")


def test_the_question_of_another_person_is_not_there(workspace: Workspace, admin: Visitor) -> None:
    sent = upload(admin, FILE)
    other = signed_in(make_member(workspace, Role.ADMIN))

    assert other.get(sent["Location"]).status_code == 404
    assert other.post(sent["Location"]).status_code == 404
    assert other.get(path_of("key-import")).status_code == 200
