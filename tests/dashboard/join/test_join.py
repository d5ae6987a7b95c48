"""Accepting an invitation: codes, new people, people who have an account, and who may not."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from accounts.invitations import invite, withdraw
from accounts.models import Invitation, Membership, Role, User, Workspace
from dashboard.http.page_urls import page_address
from tests.dashboard.visitors import signed_in
from tests.factories import ACTOR, PASSWORD, make_user, make_workspace

pytestmark = pytest.mark.django_db

CODE, ACCEPT = "/join", "/join/accept"
EMAIL = "bo@example.com"


@pytest.fixture
def workspace() -> Workspace:
    make_workspace("Aardvark")  # the first by name is not the one that is joined
    return make_workspace()


@pytest.fixture
def code(workspace: Workspace) -> str:
    return invite(workspace, email=EMAIL, role=Role.DEVELOPER, actor="ann@example.com").code


def bring(client: Client, code: str) -> Any:
    return client.post(CODE, {"code": code})


def test_a_new_person_is_in_with_name_and_password(workspace: Workspace, code: str) -> None:
    client = Client()

    brought = bring(client, code)
    asked = client.get(ACCEPT).content.decode()
    answer = client.post(ACCEPT, {"name": "Bo", "password": PASSWORD})

    person = User.objects.get(email=EMAIL)
    assert (brought.status_code, brought["Location"]) == (302, ACCEPT)
    assert "ann@example.com invited" in asked
    assert (answer.status_code, answer["Location"]) == (302, page_address(workspace, "overview"))
    assert (person.name, person.check_password(PASSWORD)) == ("Bo", True)
    shell = client.get(answer["Location"]).context["shell"]
    assert (shell.person, shell.workspace) == (person, workspace)


def test_the_whole_link_may_be_pasted(code: str) -> None:
    answer = bring(Client(), f" https://gw.example.com/join#{code} ")

    assert answer.status_code == 302


@pytest.mark.parametrize("code", ["", "   ", "inv-nobody-ever-made-this", "x" * 300, "a\x00b"])
def test_a_code_that_opens_nothing_is_refused(workspace: Workspace, code: str) -> None:
    client = Client()

    answer = bring(client, code)

    assert answer.status_code == 422
    assert client.get(ACCEPT).status_code == 302


def test_a_password_that_is_too_weak_is_refused_beside_the_field(code: str) -> None:
    client = Client()
    bring(client, code)

    answer = client.post(ACCEPT, {"name": "Bo", "password": "short"})

    assert answer.status_code == 422
    assert "too short" in answer.content.decode()
    assert not User.objects.exists()
    assert Invitation.objects.exists()


def test_who_has_an_account_signs_in_first_and_joins_then(workspace: Workspace, code: str) -> None:
    person, client = make_user(EMAIL), Client()
    bring(client, code)

    asked = client.get(ACCEPT).content.decode()
    unsigned = client.post(ACCEPT, {"name": "Mallory", "password": "stolen passphrase 31"})
    client.post("/sign-in?next=/join/accept", {"login": EMAIL, "password": PASSWORD})
    answer = client.post(ACCEPT)

    person.refresh_from_db()
    assert "/sign-in?next=%2Fjoin%2Faccept" in asked
    assert unsigned.status_code == 422
    assert person.check_password(PASSWORD)
    assert (answer.status_code, answer["Location"]) == (302, page_address(workspace, "overview"))
    assert Membership.objects.get(user=person).workspace == workspace


def test_somebody_else_who_is_signed_in_is_told_and_not_let_in(code: str) -> None:
    client = signed_in(make_user("mallory@example.com"))
    bring(client, code)

    asked = client.get(ACCEPT).content.decode()
    answer = client.post(ACCEPT, follow=True)

    assert "the invitation is for another email" in asked
    assert "for bo@example.com, not mallory@example.com." in answer.content.decode()
    assert not Membership.objects.exists()


def test_an_invitation_that_ended_meanwhile_lets_nobody_in(code: str) -> None:
    client = Client()
    bring(client, code)
    withdraw(Invitation.objects.get(), actor=ACTOR)

    answer = client.post(ACCEPT, {"name": "Bo", "password": PASSWORD}, follow=True)

    assert answer.redirect_chain[-1] == (CODE, 302)
    assert "no longer valid" in answer.content.decode()
    assert not User.objects.exists()


def test_looking_writes_no_session_and_no_code_stays_in_it(code: str) -> None:
    client = Client()

    client.get(CODE)
    client.get(ACCEPT)
    before = dict(client.session)
    bring(client, code)

    assert before == {}
    assert code not in str(dict(client.session))
