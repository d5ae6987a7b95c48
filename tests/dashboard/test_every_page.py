"""What holds on every page: whom it turns away, what it sends, and that looking changes nothing."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from pytest_django import DjangoDbBlocker

from accounts.invitations import invite
from accounts.models import Role, Workspace
from dashboard.urls import urlpatterns
from gateway.models import Batch, CallRecord, LanguageModel, Provider, ProviderCredential
from gateway.services.mcp_servers import add_mcp_server
from keys.limit_rules import add_limit_rule, for_installation, for_workspace
from keys.models import LimitRule
from tests.dashboard.demo_data import make_demo_data
from tests.dashboard.visitors import HTMX, full_path, path_of, signed_in
from tests.factories import (
    ACTOR,
    make_batch,
    make_dead_process,
    make_file,
    make_mandatory,
    make_member,
    make_model,
    make_provider,
    make_service,
    make_user,
    make_workspace,
)
from tests.support.database import rows_of_a_module

pytestmark = pytest.mark.django_db

POST_ONLY = {
    "theme",
    *(f"settings-{action}" for action in ("name", "profile", "limits", "unlock")),
    *("model-preview", "provider-test", "provider-call", "key-reset-total", "invitation-withdraw"),
    *("model-price-import", "model-price-take", "mcp-test", "tool-test", "service-test"),
}
SHOWN_ONCE = {"key-import-confirm"}  # to who has sent a file: see test_key_import
DOWNLOADS = {"batch-output", "batch-errors", "file-content"}  # of what a worker has written
FOR_EVERYBODY = {"join", "join-accept"}  # also who is not signed in: see test_joining
NAMES = sorted({pattern.name for pattern in urlpatterns if pattern.name})
PAGES = [name for name in NAMES if name not in POST_ONLY | FOR_EVERYBODY | SHOWN_ONCE | DOWNLOADS]
WITHOUT_SUBJECT = {
    *(name for name in NAMES if "-" not in name or name.startswith(("settings-", "workspace-"))),
    *(name for name in NAMES if name.endswith(("-list", "-create")) and name[:11] != "credential-"),
    *("call-export", "credits-grant", "account-name", "member-invite", "model-preview"),
    *("model-price-import", "model-price-take", "file-upload", "file-limits"),
    *("audit-installation", "key-import"),
}
INSTALLATION = [
    *(
        name
        for name in NAMES
        if name.startswith(
            ("model-", "provider-", "credential-", "workspace-", "installation-", "host-", "tool-")
        )
    ),
    *("audit-installation", "file-limits"),
]
ACCOUNT_PAGES = [
    *("mfa_index", "account_change_password", "account_reauthenticate"),
    *("mfa_list_webauthn", "account_logout"),
]
CANCEL = re.compile(r'<(?:a|button) class="([^"]*)"[^>]*>\s*Cancel\s*</')
WRITES = re.compile(r"^\s*(INSERT|UPDATE|DELETE|REPLACE)", re.IGNORECASE)


@pytest.fixture(scope="module")
def lived_in_id(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[uuid.UUID]:
    with rows_of_a_module(django_db_blocker):
        workspace = make_workspace()
        make_demo_data(workspace, days=1, calls_per_day=40)
        make_model()
        make_member(workspace, Role.VIEWER)
        invite(workspace, email="bo@example.com", role=Role.VIEWER, actor=ACTOR)
        make_limits(workspace)
        make_provider_with_credential()
        add_mcp_server(workspace, name="docs", url="https://mcp.example/mcp", actor=ACTOR)
        make_mandatory(workspace)
        make_service(workspace)
        yield workspace.pk


@pytest.fixture
def lived_in(lived_in_id: uuid.UUID) -> Workspace:
    return Workspace.objects.get(pk=lived_in_id)


def make_limits(workspace: Workspace) -> None:
    """Set a limit of the workspace and one of the installation."""
    for holder in (for_workspace(workspace), for_installation()):
        add_limit_rule(holder, metric="tokens", maximum=9, period="day", actor=ACTOR)


def make_provider_with_credential() -> None:
    make_provider("with-credential", kind="openai", credential="sk-of-every-page")


def address(name: str, workspace: Workspace | None) -> str:
    """Return the page's address, about something of this workspace, or about nothing at all."""
    if name in ACCOUNT_PAGES:
        return reverse(name)
    if name.startswith("credential-"):
        row = ProviderCredential.objects.latest("pk")
        subjects = [row.provider_id] if name == "credential-create" else [row.provider_id, row.pk]
        return path_of(name, *subjects)
    if name in ("file-content", "file-delete"):
        return path_of(name, "file_x" if workspace is None else make_file(workspace).public_id)
    subject = None if name in WITHOUT_SUBJECT else name.partition("-")[0]
    return path_of(name, *([_id(subject, workspace)] if subject else []))


def _id(subject: str, workspace: Workspace | None) -> object:
    """Return the id of one of the installation's or the workspace's, or one that nothing has."""
    if subject in ("model", "provider"):
        return (LanguageModel if subject == "model" else Provider).objects.latest("pk").pk
    if subject == "installation":
        return LimitRule.objects.get(level="installation").pk
    if subject in ("host", "tool"):
        return make_dead_process().pk if subject == "host" else "web_search"
    if workspace is None:
        return 0 if subject == "member" else uuid.uuid4()
    if subject == "call":
        return _call_id(workspace)
    if subject == "batch":
        make_batch(workspace)
    rows: dict[str, Any] = {
        "batch": Batch.objects.filter(workspace_id=workspace.pk),
        "key": workspace.keys,
        "limit": workspace.limit_rules,
        "mcp": workspace.mcp_servers,
        "mandatory": workspace.mandatory_processors,
        "service": workspace.processor_services,
        "member": workspace.memberships,
        "invitation": workspace.invitations,
    }
    found = rows[subject].first()
    return found.pk if found else uuid.uuid4()


def _call_id(workspace: Workspace) -> uuid.UUID:
    return CallRecord.objects.filter(workspace_id=workspace.pk).latest("id").pk


@pytest.mark.parametrize("name", [*PAGES, *ACCOUNT_PAGES])
def test_looking_at_a_page_writes_nothing(lived_in: Workspace, name: str) -> None:
    client = signed_in(make_user(is_operator=True))
    url = address(name, lived_in)

    with CaptureQueriesContext(connection) as queries:
        answers = [client.get(url), client.get(url, headers=HTMX)]

    written = [query["sql"] for query in queries if WRITES.match(query["sql"])]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert written == []


def test_cancel_looks_the_same_on_every_page(lived_in: Workspace) -> None:
    client = signed_in(make_user(is_operator=True))
    # The list of batches has buttons that cancel a batch; an export is no page.
    names = {*PAGES, *ACCOUNT_PAGES} - {"batch-list", "call-export"}
    looks = {
        name: set(CANCEL.findall(client.get(address(name, lived_in)).content.decode()))
        for name in names
    }
    found = {name: classes for name, classes in looks.items() if classes}

    assert len(found) > 20
    assert {name: classes for name, classes in found.items() if classes != {"button"}} == {}


@pytest.mark.parametrize("name", [*PAGES, *ACCOUNT_PAGES])
def test_the_signed_out_are_led_to_sign_in_and_back(lived_in: Workspace, name: str) -> None:
    url = full_path(lived_in, address(name, lived_in))

    answer = Client().get(url)

    assert answer.status_code == 302
    if name != "account_logout":
        assert answer["Location"] == f"/sign-in?next={url}"


@pytest.mark.parametrize("name", sorted(POST_ONLY))
def test_what_changes_something_is_not_done_by_looking(lived_in: Workspace, name: str) -> None:
    client = signed_in(make_member(lived_in, Role.OWNER))

    answer = client.get(address(name, lived_in))

    assert (answer.status_code, answer["Allow"]) == (405, "POST")
    assert b"This address is not a page" in answer.content


@pytest.mark.parametrize("role", Role.values)
@pytest.mark.parametrize("name", INSTALLATION)
def test_the_installation_is_its_operators_alone(lived_in: Workspace, name: str, role: str) -> None:
    client, url = signed_in(make_member(lived_in, role)), address(name, lived_in)

    statuses = {client.post(url).status_code}
    if name not in POST_ONLY:
        statuses.add(client.get(url).status_code)

    assert statuses <= {403, 405}
    assert 403 in statuses


@pytest.mark.parametrize(
    "name",
    [
        *("key-edit", "key-revoke", "call-detail"),
        *("member-role", "member-remove"),
    ],
)
@pytest.mark.parametrize("method", ["get", "post"])
def test_what_is_somebody_elses_is_as_if_it_were_not_there(
    lived_in: Workspace, name: str, method: str
) -> None:
    stranger = signed_in(make_member(make_workspace("Elsewhere"), Role.OWNER))
    # What differs from answer to answer, and where one is.
    nonces = re.compile(
        rb"""nonce-?[^\s;]+|name="next" [^>]+"""
        rb"""|"X-CSRFToken": "\w+"|csrfmiddlewaretoken" value="\w+\""""
    )

    foreign = getattr(stranger, method)(address(name, lived_in))
    absent = getattr(stranger, method)(address(name, None))

    assert foreign.status_code == absent.status_code
    assert foreign.status_code == 404 or method == "post"
    assert nonces.sub(b"", foreign.content) == nonces.sub(b"", absent.content)


@pytest.mark.parametrize("name", [name for name in PAGES if name != "call-export"])
def test_a_member_of_another_workspace_sees_nothing_of_this_one(
    lived_in: Workspace, name: str
) -> None:
    lived_in.name = "Unseen Industries"
    lived_in.save()
    stranger = signed_in(make_member(make_workspace("Elsewhere"), Role.OWNER))

    body = stranger.get(address(name, lived_in)).content.decode()

    labels = list(lived_in.keys.values_list("label", flat=True))
    assert [word for word in ["Unseen Industries", *labels] if f">{word}<" in body] == []


@pytest.mark.parametrize("name", [*PAGES, *ACCOUNT_PAGES])
def test_pages_are_private_and_run_only_what_we_send(lived_in: Workspace, name: str) -> None:
    answer = signed_in(make_user(is_operator=True)).get(address(name, lived_in))

    policy = answer["Content-Security-Policy"]
    assert "no-store" in answer["Cache-Control"]
    assert "unsafe" not in policy
    assert re.search(r"script-src 'nonce-[\w+/=]{20,}'(;|$)", policy) or "text/csv" in str(
        answer["Content-Type"]
    )
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize("name", [one for one in [*PAGES, *ACCOUNT_PAGES] if one != "call-export"])
def test_every_form_can_be_sent_without_javascript(lived_in: Workspace, name: str) -> None:
    page = signed_in(make_user(is_operator=True)).get(address(name, lived_in)).content.decode()

    forms = re.findall(r'<form[^>]*method="post".*?</form>', page, flags=re.DOTALL)

    assert [form for form in forms if 'name="csrfmiddlewaretoken"' not in form] == []


def test_every_address_of_the_pages_is_in_these_tests() -> None:
    def patterns(resolver: URLResolver) -> list[URLPattern]:
        inner = resolver.url_patterns
        nested = [each for r in inner if isinstance(r, URLResolver) for each in patterns(r)]
        return [each for each in inner if isinstance(each, URLPattern)] + nested

    known = {*PAGES, *POST_ONLY, *SHOWN_ONCE, *DOWNLOADS, *FOR_EVERYBODY, *ACCOUNT_PAGES}
    stage_or_second_factor = re.compile(r"mfa_|account_(login|inactive|set_password)")
    names = {str(p.name) for p in patterns(get_resolver()) if "gateway.api" not in str(p.callback)}

    assert {name for name in names - known if not stage_or_second_factor.match(name)} <= {
        name for name in names if name.startswith(("model", "generation", "api", "None"))
    }
