"""The pages of a workspace's MCP servers: what they save, show and never show."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from accounts.models import AuditEvent, ConfigChange, Role
from gateway.models import McpServer
from gateway.services import mcp_servers
from gateway.services.credential_encryption import decrypt
from gateway.services.mcp_servers import add_mcp_server
from gateway.services.snapshot_tools import load_workspace_tools
from tests.dashboard.visitors import path_of, signed_in
from tests.factories import ACTOR, make_member, make_workspace

pytestmark = pytest.mark.django_db
SECRET = "Bearer mcp-0123456789abcdef"
URL = "https://192.0.2.7/mcp"
NO_URLS = ["http://[::1", "http://host:99999999/", "https://[192.0.2.7/mcp", "https://a:b/mcp"]


@pytest.fixture(autouse=True)
def public_test_networks(settings: Any) -> None:
    settings.FETCH_ALLOWED_NETWORKS = ["192.0.2.0/24"]


def form(**fields: Any) -> dict[str, Any]:
    return {"name": "weather", "url": URL, "header": "", "enabled": "on"} | fields


def test_a_server_is_added_and_its_credential_is_shown_nowhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mcp_servers, "LIST_S", 0.01)
    workspace = make_workspace()
    visitor = signed_in(make_member(workspace))

    answer = visitor.post(
        path_of("mcp-create"), form(credential=SECRET, allowed_tools="forecast\n", price_nusd="5")
    )
    row = McpServer.objects.get()
    page = visitor.get(path_of("mcp-edit", row.pk)).content.decode()
    listed = visitor.get(path_of("mcp-list")).content.decode()
    events = str(list(AuditEvent.objects.values()))

    assert answer.status_code == 302
    assert (row.header, row.allowed_tools) == ("authorization", ["forecast"])
    assert row.price_nusd == 0  # what a use costs is the operator's to say
    assert row.secret is not None
    assert decrypt(bytes(row.secret), row.pk) == SECRET
    assert URL in page
    assert "weather" in listed
    for text in (page, listed, events):
        assert "0123456789" not in text


def test_a_kept_credential_goes_to_no_other_host() -> None:
    workspace = make_workspace()
    row = add_mcp_server(workspace, name="a", url=URL, credential=SECRET, actor=ACTOR)
    visitor = signed_in(make_member(workspace))
    seen = visitor.get(path_of("mcp-edit", row.pk)).context["form"]["seen"].value()

    moved = visitor.post(path_of("mcp-edit", row.pk), form(url="https://192.0.2.8/mcp", seen=seen))
    path = visitor.post(path_of("mcp-edit", row.pk), form(url=f"{URL}/v2", seen=seen))
    late = visitor.post(path_of("mcp-edit", row.pk), form(url=URL, seen=seen))

    assert (moved.status_code, path.status_code, late.status_code) == (422, 302, 409)
    assert "because the host changed" in moved.content.decode()
    row.refresh_from_db()
    assert row.url == f"{URL}/v2"


@pytest.mark.parametrize("url", NO_URLS)
def test_what_is_no_url_is_said_of_a_server_whose_credential_is_kept(url: str) -> None:
    workspace = make_workspace()
    row = add_mcp_server(workspace, name="a", url=URL, credential=SECRET, actor=ACTOR)
    visitor = signed_in(make_member(workspace))
    edit = path_of("mcp-edit", row.pk)
    seen = visitor.get(edit).context["form"]["seen"].value()

    answer = visitor.post(edit, form(url=url, seen=seen))

    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == ["url"]
    row.refresh_from_db()
    assert row.url == URL


def test_another_credential_is_a_change_like_any_other() -> None:
    workspace = make_workspace()
    row = add_mcp_server(workspace, name="a", url=URL, credential="short-1", actor=ACTOR)
    visitor = signed_in(make_member(workspace))
    edit = path_of("mcp-edit", row.pk)
    seen = visitor.get(edit).context["form"]["seen"].value()

    changed = visitor.post(edit, form(url=URL, credential="short-2", seen=seen))
    late = visitor.post(edit, form(url=URL, credential="short-3", seen=seen))

    assert (changed.status_code, late.status_code) == (302, 409)
    row.refresh_from_db()
    assert decrypt(bytes(row.secret or b""), row.pk) == "short-2"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "Two words"),
        ("url", "ftp://example.com/"),
        ("url", "http://127.0.0.1/mcp"),
        ("url", "http://localhost/mcp"),
        ("url", "https://user:pw@example.com/"),
        *(("url", url) for url in NO_URLS),
        ("header", "host"),
        ("header", "a b"),
        ("credential", "a\nb"),
    ],
)
def test_what_cannot_be_is_said_at_its_field(field: str, value: str) -> None:
    workspace = make_workspace()
    visitor = signed_in(make_member(workspace))

    answer = visitor.post(path_of("mcp-create"), form(**{field: value}))

    assert answer.status_code == 422
    assert field in answer.context["form"].errors
    assert not McpServer.objects.exists()


def test_calls_get_the_tools_that_are_allowed() -> None:
    workspace = make_workspace()
    row = add_mcp_server(
        workspace, name="a", url=URL, credential=SECRET, allowed_tools=["one"], actor=ACTOR
    )
    tools: list[dict[str, Any]] = [
        {"name": name, "description": "", "schema": {}} for name in ("one", "two")
    ]
    McpServer.objects.filter(pk=row.pk).update(tools=tools)

    [found] = load_workspace_tools([str(workspace.pk)])

    assert [tool.name for tool in found.mcp_servers["a"].tools] == ["one"]
    assert found.mcp_servers["a"].headers == {"authorization": SECRET}
    assert SECRET not in repr(found)


def test_members_who_do_not_manage_the_workspace_see_none_of_it() -> None:
    workspace = make_workspace()
    row = add_mcp_server(workspace, name="a", url=URL, actor=ACTOR)
    visitor = signed_in(make_member(workspace, Role.DEVELOPER))

    assert visitor.get(path_of("mcp-list")).status_code == 403
    assert visitor.post(path_of("mcp-test", row.pk)).status_code == 403


def test_a_server_is_set_for_all_calls_and_keys_hear_of_it() -> None:
    workspace = make_workspace()
    row = add_mcp_server(workspace, name="a", url=URL, actor=ACTOR)
    McpServer.objects.filter(pk=row.pk).update(tools_listed_at=timezone.now())
    visitor = signed_in(make_member(workspace))
    seen = visitor.get(path_of("mcp-edit", row.pk)).context["form"]["seen"].value()
    before = ConfigChange.objects.count()

    answer = visitor.post(path_of("mcp-edit", row.pk), form(by_default="on", seen=seen))

    assert answer.status_code == 302
    row.refresh_from_db()
    assert row.by_default
    assert "In all calls" in visitor.get(path_of("mcp-list")).content.decode()
    kinds = ConfigChange.objects.order_by("pk").values_list("kind", flat=True)[before:]
    assert list(kinds) == ["tools", "workspace"]


@pytest.mark.parametrize(
    ("fields", "state", "badge"),
    [
        ({"tools_listed_at": None}, "Tools not listed", "badge-warn"),
        ({}, "Enabled", "badge-ok"),
        ({"by_default": True}, "In all calls", "badge-ok"),
        ({"enabled": False, "by_default": True, "tools_listed_at": None}, "Disabled", ""),
    ],
)
def test_the_list_has_a_badge_for_each_state(
    fields: dict[str, Any], state: str, badge: str
) -> None:
    workspace = make_workspace()
    row = add_mcp_server(workspace, name="a", url=URL, actor=ACTOR)
    McpServer.objects.filter(pk=row.pk).update(**{"tools_listed_at": timezone.now()} | fields)

    page = signed_in(make_member(workspace)).get(path_of("mcp-list")).content.decode()

    assert f'<span class="{" ".join(filter(None, ["badge", badge]))}">{state}</span>' in page


def test_a_private_address_is_refused_with_what_to_do() -> None:
    visitor = signed_in(make_member(make_workspace()))

    for url in ("http://127.0.0.1/mcp", "https://10.0.0.7/mcp", "https://1.1.1.1:8080/mcp"):
        page = visitor.post(path_of("mcp-create"), form(url=url)).content.decode()
        assert "forbidden unless an operator allows the network" in page


def test_a_server_that_is_not_reached_is_added_and_the_reason_is_told() -> None:
    workspace = make_workspace()
    visitor = signed_in(make_member(workspace))

    answer = visitor.post(path_of("mcp-create"), form(url="https://no.such.host.invalid/mcp"))
    page = visitor.get(answer["location"]).content.decode()

    assert McpServer.objects.get().tools == []
    assert "could not be reached, or its response is not valid. Private addresses" in page


def test_what_may_be_left_empty_is_marked() -> None:
    page = signed_in(make_member(make_workspace())).get(path_of("mcp-create")).content.decode()

    assert page.count("field-optional") == 3  # header, credential, tools; the price is operators'
