"""The pages of server tools: what is set takes effect, credentials stay in, and the test tells what
came of a real run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEvent, ConfigChange
from gateway.models import ToolSetting
from gateway.services.credential_encryption import decrypt
from gateway.services.snapshot_tools import load_workspace_tools
from gateway.services.tool_settings import set_tool
from tests.dashboard.visitors import HTMX, signed_in
from tests.factories import make_user, make_workspace
from tests.gateway.test_commands import ask, refusal_of

pytestmark = pytest.mark.django_db

LIST = reverse("dashboard:tool-list")
SEARCH = reverse("dashboard:tool-edit", args=["web_search"])
SECRET = "tvly-secret-0123456789"
DOCUMENTS = [{"title": "Tides", "url": "https://example.com/tides", "text": "High tide at noon."}]


@pytest.fixture
def client() -> Client:
    make_workspace()
    return signed_in(make_user(is_operator=True))


def page(client: Client, url: str = SEARCH) -> str:
    return client.get(url).content.decode()


def send(client: Client, **fields: str) -> tuple[int, str]:
    """Send the form of web_search as it is, but for these fields."""
    seen = client.get(SEARCH).context["form"].initial["seen"]
    given = {"enabled": "on", "price_nusd": "0.004", "seen": seen} | fields
    answer = client.post(SEARCH, given)
    return answer.status_code, answer.content.decode()


def test_the_list_says_which_tools_calls_can_use(client: Client) -> None:
    shown = page(client, LIST)

    for name in ("web_search", "web_fetch", "pdf", "datetime", "image"):
        assert name in shown
    # Each twice: in a column, and below the name on narrow screens.
    assert (shown.count("Available"), shown.count("Not configured")) == (6, 4)


def test_a_form_that_changes_nothing_says_so_and_records_nothing(client: Client) -> None:
    before = AuditEvent.objects.count()

    status, _ = send(client, price_nusd="0.00")

    assert status == 302
    assert "Nothing changed." in page(client)
    assert AuditEvent.objects.count() == before
    assert not ConfigChange.objects.filter(kind="tools").exists()


def test_a_service_its_key_and_its_price_are_set(client: Client) -> None:
    status, _ = send(client, backend="tavily", credential=SECRET)

    row = ToolSetting.objects.get()
    assert (status, row.backend, row.price_nusd) == (302, "tavily", 4_000_000)
    assert decrypt(bytes(row.secret or b""), row.pk) == SECRET
    shown = page(client) + page(client, LIST)
    assert SECRET not in shown
    assert "ends in 6789" in shown
    assert SECRET not in str(AuditEvent.objects.values_list("details", flat=True))
    assert ConfigChange.objects.filter(kind="tools").count() == 1
    kept, _ = send(client, backend="tavily", price_nusd="0.005")
    moved, said = send(client, backend="exa")
    assert (kept, moved) == (302, 422)
    assert "Enter the credential again" in said


def test_what_does_not_fit_together_is_refused(client: Client) -> None:
    for fields, said in (
        ({"backend": "brave"}, "Enter the API key"),
        ({"backend": "searxng"}, "Enter the base URL"),
        ({"backend": "static"}, "Enter at least one document"),
        ({"backend": "static", "documents": '[{"title": "a"}]'}, "must have title, url and text"),
        ({"backend": "static", "documents": "["}, "Line 1, column 2: expecting value."),
        ({"price_nusd": "-1"}, "price"),
    ):
        status, shown = send(client, **fields)
        assert status == 422, fields
        assert said.lower() in shown.lower(), fields
    assert not ToolSetting.objects.exists()


def test_the_test_button_runs_the_tool(client: Client) -> None:
    test = reverse("dashboard:tool-test", args=["web_search"])
    before = client.post(test, {"text": "tide"}, headers=HTMX)
    send(client, backend="static", documents=json.dumps(DOCUMENTS))
    after = client.post(test, {"text": "tide"}, headers=HTMX)

    assert "not configured" in before.content.decode()
    assert "Tides" in after.content.decode()
    assert AuditEvent.objects.filter(action="tool.test").count() == 2
    assert ask("test_tool", "datetime")["ok"] is True


def test_a_workspace_has_a_service_of_its_own_or_none() -> None:
    workspace, other = make_workspace(), make_workspace()
    set_tool("web_search", backend="tavily", credential=SECRET, price_nusd=5, actor="boss")
    own = "exa-own-0123456789"
    set_tool("web_search", workspace=workspace, actor="boss", backend="exa", credential=own)
    ask("set_tool", "web_fetch", "--workspace", str(other.pk), "--no-enabled")

    of_own, of_other = load_workspace_tools([str(workspace.pk), str(other.pk)])

    mine = of_own.records["web_search"]
    assert (mine.backend, mine.nusd_each, mine.is_own) == ("exa", 0, True)
    theirs = of_other.records["web_search"]
    assert (theirs.backend, theirs.nusd_each, theirs.is_own) == ("tavily", 5, False)
    assert of_other.records["web_fetch"].is_enabled is False
    assert "web_fetch" not in of_own.records
    assert "does not exist" in refusal_of("set_tool", "no_tool")


def test_a_file_of_documents_that_cannot_be_read_is_told_from_a_wrong_one(tmp_path: Path) -> None:
    (tmp_path / "wrong.json").write_text("[")
    names = ("none.json", "wrong.json", ".")
    paths = [str(tmp_path / name) for name in names]

    refusals = [refusal_of("set_tool", "web_search", "--documents", path) for path in paths]

    assert refusals == [
        f"--documents: There is no file {paths[0]}.",
        f"--documents: {paths[1]} is not valid JSON.",
        f"--documents: {paths[2]} cannot be read: Is a directory.",
    ]
