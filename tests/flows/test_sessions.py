"""Sessions of people while the gateway runs: what changes elsewhere holds for the next request."""

from __future__ import annotations

import re
from http.client import HTTPConnection, HTTPResponse
from itertools import count
from urllib.parse import urlencode

import pytest

from tests.flows.site import Site

PASSWORD = "a long enough passphrase 27"
NEW_PASSWORD = "another passphrase entirely 28"
_numbers = count(1)


class Visitor:
    """Somebody with a browser: keeps cookies, and sends forms as pages have them."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.cookies: dict[str, str] = {}
        self.location = self.workspace = ""
        self.text = ""

    def get(self, path: str) -> int:
        """Open a page, in the visitor's workspace where the path names none."""
        status = self._ask("GET", path, "")
        if self.location.startswith("/w/"):
            self.workspace = "/".join(self.location.split("/")[:3])
            return self._ask("GET", self.location, "")
        return status

    def post(self, path: str, form: dict[str, str], *, page: str = "") -> int:
        """Open the page (the path itself, where none is named), and send its form."""
        self.get(page or path)
        tokens = re.findall(r'name="(csrfmiddlewaretoken|token)" value="([^"]+)"', self.text)
        return self._ask("POST", path, urlencode(dict(tokens) | form))

    def sign_in(self, email: str, password: str = PASSWORD) -> bool:
        self.post("/sign-in", {"login": email, "password": password})
        return "tollhouse_session" in self.cookies and self.get("/") == 200

    def _ask(self, method: str, path: str, body: str) -> int:
        headers = {"cookie": "; ".join(f"{name}={text}" for name, text in self.cookies.items())}
        if body:
            headers["content-type"] = "application/x-www-form-urlencoded"
        connection = HTTPConnection("127.0.0.1", self._port, timeout=60)
        connection.request(method, path, body=body or None, headers=headers)
        answer = connection.getresponse()
        self.text = answer.read().decode()
        self._keep(answer)
        connection.close()
        return answer.status

    def _keep(self, answer: HTTPResponse) -> None:
        self.location = answer.headers.get("location", "")
        for line in answer.headers.get_all("set-cookie") or []:
            name, _, text = line.partition(";")[0].partition("=")
            if text.strip('"'):
                self.cookies[name] = text
            else:
                self.cookies.pop(name, None)


@pytest.fixture
def workspace(site: Site) -> str:
    """The id of a workspace."""
    return str(site.office.do("workspace", name=f"Sessions {next(_numbers)}", credit_nusd=0))


@pytest.fixture
def email(site: Site, workspace: str) -> str:
    """The address of the workspace's admin."""
    address = f"admin{next(_numbers)}@example.com"
    site.office.do("person", workspace_id=workspace, email=address, password=PASSWORD, role="admin")
    return address


def test_a_role_that_was_taken_away_holds_from_the_next_request(
    site: Site, workspace: str, email: str
) -> None:
    visitor = Visitor(site.gateway.port)
    assert visitor.sign_in(email)
    before = visitor.get("/settings")
    colleague = f"second-{email}"
    site.office.do(
        "person", workspace_id=workspace, email=colleague, password=PASSWORD, role="owner"
    )

    site.gateway.manage("set_role", workspace, email, "viewer")
    looked = visitor.get("/settings")
    locked = visitor.post(f"{visitor.workspace}/settings/lock", {"reason": "mine"}, page="/")
    made = visitor.post(f"{visitor.workspace}/keys/new", {"label": "mine"}, page="/")

    assert before == 200
    assert (looked, locked, made) == (403, 403, 403)


def test_a_session_that_was_signed_out_of_is_over_for_who_kept_its_cookie(
    site: Site, email: str
) -> None:
    visitor, thief = Visitor(site.gateway.port), Visitor(site.gateway.port)
    assert visitor.sign_in(email)
    thief.cookies = dict(visitor.cookies)
    stolen = thief.get("/")

    signed_out = visitor.post("/sign-out", {})

    assert (stolen, signed_out) == (200, 302)
    assert thief.get("/") == 302


def test_a_password_that_an_operator_reset_ends_every_session(site: Site, email: str) -> None:
    visitor = Visitor(site.gateway.port)
    assert visitor.sign_in(email)

    site.gateway.manage("reset_password", email)

    assert visitor.get("/") == 302
    assert visitor.location.startswith("/sign-in")


def test_a_new_password_ends_the_sessions_on_other_devices(site: Site, email: str) -> None:
    here, there = Visitor(site.gateway.port), Visitor(site.gateway.port)
    assert here.sign_in(email)
    assert there.sign_in(email)
    form = {"oldpassword": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}

    changed = here.post("/account/password", form)

    assert changed == 302
    assert (here.get("/"), there.get("/")) == (200, 302)
    assert not Visitor(site.gateway.port).sign_in(email)
    assert Visitor(site.gateway.port).sign_in(email, NEW_PASSWORD)
