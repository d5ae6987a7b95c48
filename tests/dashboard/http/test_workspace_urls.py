"""The workspace is part of a page's address: who may open it, and where other addresses lead."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import Resolver404, resolve

from accounts.models import Membership, Role, User, Workspace
from dashboard.http.current_workspace import COOKIE
from dashboard.http.page_urls import SLUG, names_of_workspace_pages, page_address
from dashboard.workspaces.redirects import MovedPage
from gateway.models import CallRecord
from keys.models import ApiKey
from tests.dashboard.demo_data import make_demo_data
from tests.dashboard.test_every_page import (
    INSTALLATION,
    PAGES,
    address,
    make_limits,
    make_provider_with_credential,
)
from tests.dashboard.visitors import full_path, key_form, signed_in
from tests.factories import make_key, make_member, make_model, make_user, make_workspace

pytestmark = pytest.mark.django_db

LINK = re.compile(r'(?:href|action|hx-get|hx-post)="([^"#?]+)')
SWITCHER = re.compile(r'<details class="menu" data-menu>.*?</details>', re.DOTALL)
# The palette has two addresses; the list of workspaces leads to all of them.
SHOW_LINKS = sorted({*PAGES} - {"call-export", "palette", "workspace-list"})
OF_WORKSPACES = sorted(name.removeprefix("dashboard:") for name in names_of_workspace_pages())


@pytest.fixture
def acme() -> Workspace:
    """A workspace that has something of everything, older than any other."""
    workspace = make_workspace("Acme")
    make_demo_data(workspace, days=1, calls_per_day=5)
    make_model()
    make_provider_with_credential()
    make_member(workspace)
    make_limits(workspace)
    return workspace


@pytest.fixture
def zephyr() -> Workspace:
    return make_workspace("Zephyr")


def member_of_both(acme: Workspace, zephyr: Workspace) -> User:
    """Somebody who owns the first, and only looks at the second."""
    person = make_member(acme, Role.OWNER)
    Membership.objects.create(workspace=zephyr, user=person, role=Role.VIEWER)
    return person


@pytest.mark.parametrize("name", OF_WORKSPACES)
def test_no_page_of_a_foreign_workspace_is_there(
    acme: Workspace, zephyr: Workspace, name: str
) -> None:
    stranger = signed_in(make_member(zephyr, Role.OWNER))
    url = full_path(acme, address(name, acme)) if name != "palette" else "/w/acme/search"
    assert resolve(url).view_name == f"dashboard:{name}"

    statuses = [stranger.get(url).status_code, stranger.post(url, key_form()).status_code]

    assert statuses == [404, 404]
    assert stranger.cookies.get(COOKIE) is None


def test_each_page_follows_the_role_in_the_workspace_of_its_address(
    acme: Workspace, zephyr: Workspace
) -> None:
    client = signed_in(member_of_both(acme, zephyr))

    looked = [client.get(page_address(each, "settings")).status_code for each in (acme, zephyr)]
    made = [
        client.post(page_address(each, "settings-name"), {"name": "Renamed"}).status_code
        for each in (zephyr, acme)
    ]

    zephyr.refresh_from_db()
    acme.refresh_from_db()
    assert (looked, made) == ([200, 403], [403, 302])
    assert (acme.name, zephyr.name) == ("Renamed", "Zephyr")


def test_a_link_opens_whatever_was_looked_at_before(acme: Workspace, zephyr: Workspace) -> None:
    client = signed_in(member_of_both(acme, zephyr))
    client.get(page_address(zephyr, "key-list"))
    call = CallRecord.objects.filter(workspace_id=acme.pk).latest("id")

    page = client.get(page_address(acme, "call-detail", call.pk))

    assert page.status_code == 200
    assert page.context["shell"].workspace == acme


@pytest.mark.parametrize("name", SHOW_LINKS)
def test_every_link_of_a_page_stays_in_its_workspace(
    acme: Workspace, zephyr: Workspace, name: str
) -> None:
    client = signed_in(make_user(is_operator=True))
    client.get(page_address(zephyr, "overview"))
    if name in INSTALLATION or name not in OF_WORKSPACES:
        client.get(page_address(acme, "overview"))
        url = address(name, acme)
    else:
        url = full_path(acme, address(name, acme))

    page = SWITCHER.sub("", client.get(url).content.decode())

    links = LINK.findall(page)
    assert [link for link in links if link.startswith("/w/") and "/w/acme" not in link] == []
    assert [link for link in links if is_moved(link)] == []


def is_moved(link: str) -> bool:
    try:
        return getattr(resolve(link).func, "view_class", None) is MovedPage and link != "/"
    except Resolver404:
        return False


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("/", "/w/zephyr"),
        ("/?period=7d", "/w/zephyr?period=7d"),
        ("/calls?status=failed&model=a%26b", "/w/zephyr/calls?status=failed&model=a%26b"),
        ("/keys/new", "/w/zephyr/keys/new"),
        ("/calls.csv?period=all", "/w/zephyr/calls.csv?period=all"),
        ("/w/zephyr/", "/w/zephyr"),
    ],
)
def test_an_address_without_a_workspace_leads_to_the_one_looked_at_last(
    acme: Workspace, zephyr: Workspace, old: str, new: str
) -> None:
    client = Client()
    client.force_login(member_of_both(acme, zephyr))
    first = client.get("/")
    client.get(page_address(zephyr, "key-list"))

    moved = client.get(old)

    assert first["Location"] == "/w/acme"
    assert (moved.status_code, moved["Location"]) == (302, new)


@pytest.mark.parametrize("name", ["key-edit", "key-revoke", "call-detail", "member-role"])
def test_an_old_link_leads_to_the_workspace_of_what_it_names(
    acme: Workspace, zephyr: Workspace, name: str
) -> None:
    client, stranger = Client(), Client()
    client.force_login(member_of_both(acme, zephyr))
    client.get(page_address(zephyr, "key-list"))
    stranger.force_login(make_member(zephyr))
    old = address(name, acme)

    moved, foreign = client.get(f"{old}?a=b"), stranger.get(old, follow=True)

    assert moved["Location"] == f"/w/acme{old}?a=b"
    assert foreign.status_code == 404
    assert foreign.redirect_chain == [(f"/w/zephyr{old}", 302)]


def test_no_form_is_sent_on(acme: Workspace) -> None:
    client = Client()
    client.force_login(make_member(acme))
    before = ApiKey.objects.count()

    answer = client.post("/keys/new", key_form())

    assert answer.status_code == 405
    assert ApiKey.objects.count() == before


def test_who_is_signed_out_learns_nothing_and_comes_back(acme: Workspace) -> None:
    answers = [Client().get(f"/w/{slug}/keys?q=a") for slug in ("acme", "no-such")]

    assert [answer["Location"] for answer in answers] == [
        "/sign-in?next=/w/acme/keys%3Fq%3Da",
        "/sign-in?next=/w/no-such/keys%3Fq%3Da",
    ]


@pytest.mark.parametrize("slug", ["no-such", "zephyr"])
def test_a_cookie_that_names_a_workspace_of_others_opens_none(acme: Workspace, slug: str) -> None:
    make_workspace("Zephyr")
    client = Client()
    client.force_login(make_member(acme))
    client.cookies[COOKIE] = slug

    assert client.get("/")["Location"] == "/w/acme"


def test_a_membership_that_ends_ends_the_view_at_once(acme: Workspace) -> None:
    member = make_member(acme)
    client = Client()
    client.force_login(member)
    before = client.get("/w/acme/keys").status_code

    member.memberships.all().delete()

    assert before == 200
    assert client.get("/w/acme/keys").status_code == 404
    assert client.get("/").status_code == 403


def switched(client: Client, url: str) -> dict[str, str]:
    """Return where the switcher of a page leads, by the workspace's name."""
    return {link.workspace.name: link.url for link in client.get(url).context["shell"].workspaces}


def test_the_switcher_leads_to_the_same_page_where_there_is_one(
    acme: Workspace, zephyr: Workspace
) -> None:
    client = signed_in(member_of_both(acme, zephyr))
    key = make_key(acme).key

    assert switched(client, "/w/acme/calls?status=ok")["Zephyr"] == "/w/zephyr/calls"
    assert switched(client, "/w/acme")["Zephyr"] == "/w/zephyr"
    assert switched(client, f"/w/acme/keys/{key.pk}")["Zephyr"] == "/w/zephyr"
    # A viewer there has no settings and no credits to look at.
    assert switched(client, "/w/acme/settings")["Zephyr"] == "/w/zephyr"
    assert switched(client, "/w/acme/credits")["Zephyr"] == "/w/zephyr"
    assert switched(client, "/reference")["Zephyr"] == "/w/zephyr"


def test_the_palette_switches_and_finds_in_the_workspace_of_its_page(
    acme: Workspace, zephyr: Workspace
) -> None:
    client = signed_in(member_of_both(acme, zephyr))
    make_key(acme, label="Night shift")
    make_key(zephyr, label="Night owl")

    there = client.get("/w/zephyr/search", {"q": "night"}).content.decode()
    here = client.get("/w/acme/search", {"q": "zeph"}).content.decode()

    assert "Night owl" in there
    assert "Night shift" not in there
    assert 'href="/w/zephyr"' in here


def test_who_is_in_no_workspace_still_has_a_palette() -> None:
    client = Client()
    client.force_login(make_user())

    assert b"Account and security" in client.get("/search").content


def test_every_page_of_a_workspace_has_its_old_address(acme: Workspace) -> None:
    old = {address(name, acme) for name in OF_WORKSPACES if name != "palette"}

    assert {path for path in old if not is_moved(path) and path != "/"} == set()
    assert all(SLUG in resolve(full_path(acme, path)).kwargs for path in old)
