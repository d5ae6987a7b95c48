"""The frame around pages: themes, the palette, sessions that end, error pages."""

from __future__ import annotations

import re
import uuid

import pytest
from django.db import connection
from django.test import Client, RequestFactory

from accounts.models import Role, Workspace
from dashboard.error_pages import views as error_pages
from dashboard.keys import views as keys
from tests.dashboard.visitors import HTMX, seen_on, signed_in
from tests.factories import make_key, make_member, make_provider, make_user, make_workspace

pytestmark = pytest.mark.django_db
MODEL_ID = "01a20098-8fc6-707a-8196-f1aaad2692fb"


@pytest.fixture
def workspace() -> Workspace:
    return make_workspace()


def test_who_is_in_no_workspace_is_told_what_to_do() -> None:
    answer = signed_in(make_user()).get("/")

    assert answer.status_code == 403
    assert b"You are not in a workspace yet" in answer.content


def test_the_theme_is_drawn_by_the_server(workspace: Workspace) -> None:
    client = signed_in(make_member(workspace))

    client.post("/theme", {"theme": "dark", "next": "/keys"})
    dark = client.get("/keys").content
    client.post("/theme", {"theme": "", "next": "/keys"})
    neither = client.get("/keys").content

    assert b'<html lang="en" data-theme="dark">' in dark
    assert b'<html lang="en">' in neither


@pytest.mark.parametrize("theme", ['"><script>', "blue"])
def test_a_theme_that_is_none_is_ignored(workspace: Workspace, theme: str) -> None:
    client = signed_in(make_member(workspace))
    client.cookies["theme"] = theme

    assert b'<html lang="en">' in client.get("/keys").content


@pytest.mark.parametrize("target", ["//evil.example/", "https://evil.example/", "\\\\evil", ""])
def test_choosing_a_theme_leads_nowhere_else(target: str) -> None:
    answer = Client().post("/theme", {"theme": "dark", "next": target})

    assert answer["Location"] == "/"


def test_the_palette_finds_pages_and_keys_of_this_workspace(workspace: Workspace) -> None:
    make_key(workspace, label="Night shift")
    make_key(make_workspace("Other"), label="Night owl")
    client = signed_in(make_member(workspace))

    found = client.get("/search", {"q": "night"}).content.decode()

    assert "Night shift" in found
    assert "Night owl" not in found
    assert "Overview" in client.get("/search").content.decode()


def test_each_page_has_a_letter_of_its_own(workspace: Workspace) -> None:
    page = signed_in(make_user(is_operator=True)).get("/").content.decode()

    letters = re.findall(r'data-go="(\w)"', page)

    assert len(letters) > 15
    assert len(set(letters)) == len(letters)


def test_the_bar_of_a_narrow_screen_names_the_workspace(workspace: Workspace) -> None:
    page = signed_in(make_member(workspace)).get("/keys").content.decode()

    bar = page[page.index('class="topbar"') : page.index("<main")]
    assert f"Workspace: </span>{workspace.name}" in bar


def test_the_palette_finds_what_one_calls_otherwise(workspace: Workspace) -> None:
    make_provider("northern-lights", kind="openai_compatible", base_url="http://127.0.0.1:1/v1")
    operator, viewer = signed_in(make_user(is_operator=True)), signed_in(make_member(workspace))

    def found(client: Client, query: str) -> str:
        return client.get("/search", {"q": query}).content.decode()

    assert "northern-lights" in found(operator, "northern")
    assert "northern-lights" not in found(viewer, "northern")
    assert "Create key" in found(operator, "new key")
    assert "Account and security" in found(viewer, "password")
    assert "Sign out" in found(viewer, "sign out")


def test_the_palette_leads_to_a_call_by_its_id(workspace: Workspace) -> None:
    call_id = uuid.uuid4()

    found = signed_in(make_member(workspace)).get("/search", {"q": str(call_id)})

    assert f'href="/w/acme/calls/{call_id}"' in found.content.decode()


def test_a_session_that_ended_turns_a_swap_into_a_navigation() -> None:
    page = "http://testserver/keys?state=all"

    answer = Client().get("/keys", headers=HTMX | {"HX-Current-URL": page})

    assert answer["HX-Redirect"] == "/sign-in?next=%2Fkeys%3Fstate%3Dall"


@pytest.mark.parametrize(
    ("page", "leads_to"),
    [
        ("http://testserver/settings", "/sign-in?next=%2Fsettings"),
        ("http://testserver/keys?q=a", "/sign-in?next=%2Fkeys%3Fq%3Da"),
        ("https://evil.example/", "/sign-in?next=%2F"),
        ("", "/sign-in?next=%2F"),
    ],
)
def test_a_form_of_a_session_that_ended_leads_back_to_its_page(page: str, leads_to: str) -> None:
    visitor = Client()

    answer = visitor.post("/settings/name", {"name": "Lost"}, headers={"Referer": page})

    assert answer["Location"] == leads_to
    assert b"your changes were not saved" in visitor.get(leads_to).content


def test_who_signs_out_is_told_nothing_of_lost_work(workspace: Workspace) -> None:
    client = signed_in(make_member(workspace))

    answer = client.post("/sign-out", follow=True)

    assert answer.redirect_chain[-1][0].startswith("/sign-in")
    assert b"were not saved" not in answer.content


@pytest.mark.parametrize(
    ("came_from", "leads_to"),
    [
        (
            "http://testserver/w/acme/keys?q=night&state=all",
            "/w/acme/keys?q=night&amp;state=all",
        ),
        ("http://testserver/w/acme/calls?status=failed", "/w/acme/keys"),
        ("https://evil.example/w/acme/keys?q=night", "/w/acme/keys"),
    ],
)
def test_the_way_back_to_a_list_keeps_its_filters(
    workspace: Workspace, came_from: str, leads_to: str
) -> None:
    key = make_key(workspace, label="Night shift").key
    client = signed_in(make_member(workspace))

    page = client.get(f"/keys/{key.pk}", headers={"Referer": came_from}).content.decode()

    assert f'<p class="crumb"><a href="{leads_to}">' in page


@pytest.mark.parametrize(
    ("path", "way_back"),
    [
        ("/settings/limits", "/w/acme/settings"),
        (f"/keys/{MODEL_ID}/reset-total", f"/w/acme/keys/{MODEL_ID}"),
    ],
)
def test_an_address_that_is_no_page_leads_to_the_one_it_belongs_to(
    workspace: Workspace, path: str, way_back: str
) -> None:
    answer = signed_in(make_user(is_operator=True)).get(path)

    assert answer.status_code == 405
    assert f'href="{way_back}"' in answer.content.decode()


def test_a_locked_workspace_says_so_on_its_pages(workspace: Workspace) -> None:
    owner = signed_in(make_member(workspace, Role.OWNER))
    operator = signed_in(make_user(is_operator=True))

    owner.post("/settings/lock", {"reason": "Invoice overdue", "typed_name": workspace.name})
    locked = owner.get("/keys").content
    refused = owner.post("/settings/unlock").status_code
    operator.post("/settings/unlock")

    assert b"Invoice overdue" in locked
    assert refused == 403
    assert b"Invoice overdue" not in owner.get("/keys").content


def test_questions_of_the_settings_name_the_workspace(workspace: Workspace) -> None:
    owner = signed_in(make_member(workspace, Role.OWNER))

    logging = owner.get("/settings/bodies").content.decode()
    lock = owner.get("/settings/lock").content.decode()

    assert f"every new call of {workspace.name} are stored" in logging
    assert f"Lock {workspace.name}?" in lock


@pytest.mark.parametrize("path", ["/providers", "/hosts", "/credits/grant"])
def test_owners_are_told_which_pages_are_for_operators(workspace: Workspace, path: str) -> None:
    page = signed_in(make_member(workspace, Role.OWNER)).get(path)

    assert page.status_code == 403
    assert "Only operators of this installation" in page.content.decode()
    assert "An owner of the workspace can change that" not in page.content.decode()


def test_owners_rename_and_keep_bodies_and_others_may_not(workspace: Workspace) -> None:
    owner = signed_in(make_member(workspace, Role.OWNER))
    viewer = signed_in(make_member(workspace, Role.VIEWER))

    kinds = ("name", "bodies", "lock", "limits")
    answers = [viewer.post(f"/settings/{kind}").status_code for kind in kinds]
    owner.post("/settings/name", {"name": "Renamed"})
    seen = seen_on(owner, "/settings", form="limits_form")
    limits = {"max_requests_per_minute": "90", "max_concurrent": "7"}
    owner.post("/settings/limits", limits | seen)
    late = owner.post("/settings/limits", {"max_concurrent": "1"} | seen)
    owner.post("/settings/bodies", {"stores_bodies": "on"})
    owner.post("/settings/profile", {"compat_profile": "bud"})

    workspace.refresh_from_db()
    assert answers == [403, 403, 403, 403]
    assert (workspace.name, workspace.stores_bodies) == ("Renamed", True)
    assert (workspace.max_requests_per_minute, workspace.burst) == (90, None)
    assert workspace.max_concurrent == 7
    assert late.status_code == 409
    assert "Someone else changed this workspace" in late.content.decode()
    assert workspace.compat_profile == "bud"
    assert b'value="bud" selected' in owner.get("/settings").content


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("name", {"name": " "}),
        ("name", {"name": "\u202e"}),
        ("profile", {"compat_profile": "nobody"}),
        ("limits", {"max_concurrent": "0"}),
        ("limits", {"burst": "5"}),
        ("lock", {}),
    ],
)
def test_settings_that_cannot_be_taken_are_named(
    workspace: Workspace, path: str, form: dict[str, str]
) -> None:
    owner = signed_in(make_member(workspace, Role.OWNER))

    answer = owner.post(f"/settings/{path}", form | seen_on(owner, "/settings", form="limits_form"))

    assert answer.status_code == 422
    assert "field-error" in answer.content.decode() or "notice-bad" in answer.content.decode()


@pytest.mark.parametrize("path", ["/nothing", "/keys/nothing", "/calls/1/2", "/static/none.css"])
def test_what_is_not_there_gets_a_page(path: str) -> None:
    answer = Client().get(path)

    assert answer.status_code == 404
    assert b"Page not found" in answer.content
    assert path.encode() not in answer.content


@pytest.mark.parametrize("path", ["/v1/nothing", "/api/v1/nothing", "/v1/keys"])
def test_under_the_api_it_gets_json(path: str) -> None:
    answer = Client().get(path)

    assert answer["Content-Type"].startswith("application/json")
    assert b"<" not in answer.content


def test_a_failure_of_ours_shows_no_reason() -> None:
    client = Client(raise_request_exception=False)
    client.cookies["tollhouse_session"] = "x"

    request = RequestFactory().get("/keys")
    answer = error_pages.server_error(request)

    assert answer.status_code == 500
    assert b"Something went wrong" in answer.content
    assert b"Traceback" not in answer.content


@pytest.mark.parametrize(
    ("status", "path"),
    [
        (400, "/calls?after=x"),
        (403, "/settings"),
        (403, "/models"),
        (404, "/nothing"),
        (404, "/w/nobody/keys"),
        (405, "/settings/name"),
        (500, "/keys"),
    ],
)
def test_what_goes_wrong_stays_in_the_frame_of_who_is_signed_in(
    workspace: Workspace, status: int, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, stranger = signed_in(make_member(workspace, Role.DEVELOPER)), Client()
    client.raise_request_exception = False
    if status == 500:
        monkeypatch.setattr(keys, "key_rows", lambda *_: 1 // 0)

    answer, part = client.get(path), client.get(path, headers=HTMX)
    alone = stranger.get(path).content

    frame = b'<nav class="sidebar"'
    assert (answer.status_code, part.status_code) == (status, status)
    assert frame in answer.content
    assert b'href="/w/acme/keys"' in answer.content
    assert (frame in part.content, frame in alone) == (False, False)


def test_who_is_in_no_workspace_is_told_so_inside_the_frame() -> None:
    answer = signed_in(make_user()).get("/")

    assert answer.status_code == 403
    assert b'<nav class="sidebar"' in answer.content
    assert b"You are not in a workspace yet" in answer.content


@pytest.mark.parametrize("failing", ["accounts_user", "accounts_membership"])
def test_an_error_page_comes_without_its_frame_where_the_database_fails(
    workspace: Workspace, failing: str
) -> None:
    client = Client()
    client.force_login(make_member(workspace))
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {failing} RENAME TO gone")

    answer = client.get("/w/nobody/keys")

    assert answer.status_code in (404, 503)
    assert b"<h1>" in answer.content
    assert b'<nav class="sidebar"' not in answer.content


def test_a_request_for_another_host_gets_a_page_without_echo() -> None:
    answer = Client().get("/sign-in", headers={"Host": "evil.example"})

    assert answer.status_code == 400
    assert b"evil.example" not in answer.content
