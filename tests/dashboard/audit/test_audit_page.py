"""The audit log: who sees which events, in which words."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from accounts import audit_selectors
from accounts.ledger import grant
from accounts.models import AuditEvent, Role, Workspace
from accounts.services import change_role, lock_workspace, rename_workspace
from dashboard.audit.event_text import changes_of, words_of
from gateway.services.models import set_prices
from keys.services import set_limits
from tests.dashboard.visitors import HTMX, signed_in
from tests.factories import ACTOR, make_key, make_member, make_model, make_user, make_workspace
from tests.gateway.test_every_change import ORDERS
from tests.support.servers import ROOT

pytestmark = pytest.mark.django_db

APPS = ("accounts", "gateway", "keys")
ACTION = re.compile(r'action="([a-z_]+\.[a-z_]+)"')
URL = "/audit"
INSTALLATION_URL = "/installation/audit"


@pytest.fixture
def workspace() -> Workspace:
    return make_workspace()


def text_of(client: Any, url: str = URL) -> str:
    return str(client.get(url, headers=HTMX).content.decode())


@pytest.mark.parametrize("role", Role.values)
def test_owners_and_admins_see_it_and_nobody_else(workspace: Workspace, role: str) -> None:
    client = signed_in(make_member(workspace, role))

    assert client.get(URL).status_code == (200 if role in (Role.OWNER, Role.ADMIN) else 403)
    assert client.get(INSTALLATION_URL).status_code == 403


def test_it_shows_what_happened_here_alone(workspace: Workspace) -> None:
    lock_workspace(make_workspace("Other"), reason="elsewhere", actor="eve@example.com")
    key, _ = make_key(workspace, label="Checkout")
    set_limits(key, limits={"daily_limit_nusd": 2_500_000_000}, actor="ann@example.com")
    rename_workspace(workspace, name="Acme Ltd", actor="ann@example.com")

    page = text_of(signed_in(make_member(workspace, Role.OWNER)))

    assert f'<a href="/w/acme/keys/{key.pk}">Checkout</a>' in page
    assert "daily budget: none → $2.50" in page
    assert "name: Acme → Acme Ltd" in page
    assert "eve@example.com" not in page


def test_operators_see_what_belongs_to_the_installation(workspace: Workspace) -> None:
    model = make_model("gpt-5")
    set_prices(model, input_pusd=3_000_000, output_pusd=4_000_000, actor="op@example.com")
    client = signed_in(make_user(is_operator=True))

    before = client.get(f"{URL}?of=installation")["Location"]  # its address once
    assert before == INSTALLATION_URL
    assert "gpt-5" in text_of(client, INSTALLATION_URL)
    assert "gpt-5" not in text_of(client)


def test_credit_is_told_exactly(workspace: Workspace) -> None:
    grant(workspace, amount_nusd=1_500_000_001, actor=ACTOR, reason="A gift & more")

    page = text_of(signed_in(make_member(workspace, Role.OWNER)))

    assert "$1.500000001" in page
    assert escape("A gift & more") in page
    assert '<a href="/w/acme/credits">Balance</a>' in page


def test_it_is_narrowed_and_paged(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_selectors, "EVENTS_PER_PAGE", 2)
    client = signed_in(make_member(workspace, Role.OWNER))
    for number in range(5):
        rename_workspace(workspace, name=f"Name {number}", actor="ann@example.com")

    changes, url = [], f"{URL}?q=RENAME"
    while url:
        answer = client.get(url, headers=HTMX)
        changes += [line.changes for line in answer.context["table"].items]
        url = answer.context["older_url"]

    assert changes == [
        *(f"name: Name {number} → Name {number + 1}" for number in (3, 2, 1, 0)),
        "name: Acme → Name 0",
    ]
    assert "No matching events" in text_of(client, f"{URL}?q=zzz%00")


@pytest.mark.parametrize("name", ORDERS)
def test_every_order_has_words_of_its_own(name: str) -> None:
    start, _ = ORDERS[name]
    order = start()
    AuditEvent.objects.all().delete()

    order()

    event = AuditEvent.objects.get()
    assert words_of(event) != event.action
    assert "{" not in changes_of(event)


def test_every_action_that_is_recorded_has_words() -> None:
    sources = [path for app in APPS for path in (ROOT / app).rglob("*.py")]

    found = {name for path in sources for name in ACTION.findall(path.read_text())}

    assert {"file.upload", "key.issue"} <= found
    assert [name for name in sorted(found) if words_of(AuditEvent(action=name)) == name] == []


def test_a_role_is_told_with_what_it_was(workspace: Workspace) -> None:
    member = make_member(workspace, Role.VIEWER).memberships.get()
    change_role(member, role="billing", actor=ACTOR)

    event = AuditEvent.objects.latest("pk")

    assert (words_of(event), changes_of(event)) == ("Role changed", "role: viewer → billing")


@pytest.mark.parametrize(
    ("details", "shown"),
    [
        ({"is_local": [False, True]}, "on-premises: no → yes"),
        ({"allowed_models": [[], ["gpt-5"]]}, "models: all → gpt-5"),
        ({"allowed_ips": [["::1/128"], []]}, "allowed IPs: ::1/128 → none"),
        ({"scopes": [None, ["usage"]]}, "scopes: all → usage"),
        ({"denied_models": [[], ["gpt-5"]]}, "denied models: none → gpt-5"),
        (
            {"allowed_ips": [None, ["10.0.0.0/8", "::1/128"]]},
            "allowed IPs: all → 10.0.0.0/8, ::1/128",
        ),
        ({"reason": "x" * 200}, "reason: " + "x" * 60 + "…"),
        ({"default_params": [{}, {"seed": 1}]}, 'default params: {} → {"seed": 1}'),
        ({"until": "2026-12-01T17:29:56+00:00"}, "until: 1 Dec 2026, 17:29:56 UTC"),
        (
            {"expires_at": [None, "2027-01-01T01:00:00+01:00"]},
            "expiry: none → 1 Jan 2027, 00:00:00 UTC",
        ),
        ({"until": "tomorrow"}, "until: tomorrow"),
        ({"name": "docs", "hint": ""}, "name: docs"),
        ({}, ""),
    ],
)
def test_what_changed_is_told_in_the_words_of_the_forms(
    details: dict[str, Any], shown: str
) -> None:
    assert changes_of(AuditEvent(action="x.update", details=details)) == shown


def test_a_search_looks_at_so_many_events_and_goes_on_from_there(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit_selectors, "EVENTS_SEARCHED", 20)
    rename_workspace(workspace, name="Needle", actor="needle@example.com")
    for number in range(30):
        rename_workspace(workspace, name=f"Hay {number}", actor="hay@example.com")
    client = signed_in(make_member(workspace, Role.OWNER))

    first = client.get(URL, {"q": "needle"})
    second = client.get(first.context["older_url"])

    assert "Search older" in first.content.decode()
    assert "needle@example.com" not in first.content.decode()
    assert "needle@example.com" in second.content.decode()
    with CaptureQueriesContext(connection) as queries:
        audit_selectors.events_of(workspace, query="needle", before=None)
    [search] = [each["sql"] for each in queries if "needle" in each["sql"]]
    assert "LIMIT 20)" in search
