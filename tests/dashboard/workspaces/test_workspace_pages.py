"""The page of workspaces: finding, opening and making them, for operators alone."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest
from django.test import Client

from accounts.models import Invitation, Membership, Role, Wallet, Workspace
from dashboard.forms.submit_once import new_form_token
from dashboard.workspaces import rows
from gateway.journal.record import Damage
from gateway.stores.journal_faults import keep_damage
from tests.dashboard.visitors import HTMX, signed_in
from tests.factories import make_key, make_member, make_user, make_workspace

pytestmark = pytest.mark.django_db

LIST, NEW = "/workspaces", "/workspaces/new"


@pytest.fixture
def operator() -> Client:
    return signed_in(make_user("op@example.com", is_operator=True))


def form(**fields: str) -> dict[str, str]:
    return {"name": "Acme", "credit": "", "owner": "", "token": new_form_token()} | fields


def test_the_list_shows_money_people_and_keys(operator: Client) -> None:
    workspace = make_workspace("Acme", credit_nusd=12_500_000_000)
    make_member(workspace)
    make_key(workspace)
    make_key(workspace)

    answer = operator.get(LIST)

    [row] = answer.context["table"].items
    assert (row.workspace, row.balance_nusd, row.members, row.keys) == (
        workspace,
        12_500_000_000,
        1,
        2,
    )
    assert "$12.50" in answer.content.decode()


def test_the_list_says_when_a_part_of_the_journal_could_not_be_posted(operator: Client) -> None:
    before = operator.get(LIST).content.decode()
    damage = Damage(segment=0, start=0, end=100, records=2, data=b"\xff" * 100)
    keep_damage(uuid.uuid4(), [damage])

    page = operator.get(LIST).content.decode()

    assert "manage.py prove" not in before
    assert "1 part of the journal could not be posted" in page
    assert "manage.py prove" in page


def test_the_list_is_narrowed_and_paged(operator: Client, monkeypatch: Any) -> None:
    monkeypatch.setattr(rows, "PER_PAGE", 2)
    for number in range(5):
        make_workspace(f"Team {number}")
    make_workspace("Other")

    names, url = [], f"{LIST}?q=team"
    while url:
        answer = operator.get(url, headers=HTMX)
        names += [row.workspace.name for row in answer.context["table"].items]
        pager = answer.context["table"].pager
        url = pager.older_url if pager else ""

    assert names == [f"Team {number}" for number in (4, 3, 2, 1, 0)]


def test_nothing_that_fits_is_said(operator: Client) -> None:
    make_workspace()

    assert "No matching workspaces" in operator.get(f"{LIST}?q=zzz%00").content.decode()


def test_a_workspace_is_made_with_credit_for_somebody_who_has_an_account(operator: Client) -> None:
    owner = make_user("ann@example.com")

    answer = operator.post(NEW, form(credit="1,250.5", owner="Ann@Example.com"), follow=True)

    workspace = Workspace.objects.get()
    assert answer.redirect_chain == [("/w/acme", 302)]
    assert "Acme is ready." in answer.content.decode()
    assert "no credit" not in answer.content.decode()
    assert answer.context["shell"].workspace == workspace
    assert Wallet.objects.get().posted_nusd == 1_250_500_000_000
    assert Membership.objects.get(user=owner).role == Role.OWNER


def test_a_workspace_made_without_credit_is_said_to_have_none(operator: Client) -> None:
    page = operator.post(NEW, form(credit=""), follow=True).content.decode()

    assert "Acme is ready. It has no credit yet: grant some on the page Credits." in page


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "dialog"])
def test_an_owner_without_an_account_is_invited(operator: Client, headers: Any) -> None:
    answer = operator.post(NEW, form(owner="bo@example.com"), headers=headers)

    invitation = Invitation.objects.get()
    assert answer.status_code == 201
    assert re.search(r"/join#inv-[\w-]{43}", answer.content.decode())
    assert (invitation.email, invitation.role) == ("bo@example.com", Role.OWNER)


def test_a_dialog_goes_on_to_the_new_workspace(operator: Client) -> None:
    answer = operator.post(NEW, form(), headers=HTMX)

    assert (answer.status_code, answer["HX-Redirect"]) == (204, "/w/acme")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"name": ""}, "This field is required"),
        ({"name": "two\u2028lines"}, "Control characters"),
        ({"credit": "-1"}, "negative"),
        ({"credit": "much"}, "much"),
        ({"credit": "1,50"}, "without commas"),
        ({"credit": "1" * 30}, "too large"),
        ({"owner": "nobody"}, "Enter a valid email address"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_made(
    operator: Client, fields: dict[str, str], words: str
) -> None:
    answer = operator.post(NEW, form(**fields))

    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert not Workspace.objects.exists()


def test_the_same_form_sent_twice_makes_one(operator: Client) -> None:
    filled = form()

    first, second = operator.post(NEW, filled), operator.post(NEW, filled)

    assert (first.status_code, second.status_code) == (302, 409)
    assert Workspace.objects.count() == 1
