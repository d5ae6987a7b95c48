"""The page that explains a call, at a running gateway: what it shows is what a call would meet."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count

import pytest

from gateway.core.admission_steps import STEPS
from tests.flows.caller import Caller
from tests.flows.site import Site
from tests.flows.test_limit_rules import limit
from tests.flows.test_pdfs import ask as ask_about_paper
from tests.flows.test_pdfs import paper
from tests.flows.test_sessions import PASSWORD, Visitor
from tests.support.pdf import write_pdf

_numbers = count(1)
STEP = re.compile(r'<li data-result="(\w+)">(.*?)</li>', re.DOTALL)

SignIn = Callable[[Caller], Visitor]


@pytest.fixture
def sign_in(site: Site) -> SignIn:
    """Signs an admin of the caller's workspace in."""

    def sign_in(caller: Caller) -> Visitor:
        email = f"explainer{next(_numbers)}@example.com"
        wishes = {"email": email, "password": PASSWORD, "role": "admin"}
        site.office.do("person", workspace_id=caller.workspace_id, **wishes)
        visitor = Visitor(site.gateway.port)
        assert visitor.sign_in(email)
        return visitor

    return sign_in


def ask(visitor: Visitor, caller: Caller, **fields: str) -> dict[str, str]:
    """Send the form; return what each check of the answer says, by its result and its name."""
    form = {"key": caller.key_id, "model": caller.model, "endpoint": "chat_completions"} | fields
    status = visitor.post(f"{visitor.workspace}/explain", form)
    assert status == 200, visitor.text
    return trace(visitor)


def trace(visitor: Visitor) -> dict[str, str]:
    """Return what the page shows of each check: its result, then its limits."""
    found = {}
    for title, (result, text) in zip(STEPS, STEP.findall(visitor.text), strict=True):
        assert f">{STEPS[title]}<" in text
        found[title] = " ".join([result, *re.sub(r"<[^>]+>", " ", text).split()])
    return found


def test_a_call_that_would_be_admitted(site: Site, caller: Caller, sign_in: SignIn) -> None:
    visitor = sign_in(caller)

    steps = ask(visitor, caller, body='{"messages": [], "max_tokens": 7}')
    refused = visitor.text
    body = '{"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 7}'
    steps = ask(visitor, caller, body=body)

    assert "HTTP 400" in refused
    assert {text.partition(" ")[0] for text in steps.values()} == {"passed"}
    assert "badge-ok" in visitor.text
    assert "for at most 7 output tokens" in visitor.text
    assert site.office.do("records", key_id=caller.key_id) == []


def test_the_limits_of_a_refused_call(site: Site, sign_in: SignIn) -> None:
    caller = site.limited_caller(max_requests_per_minute=1, burst=1)
    limit(site, caller, "--metric", "tokens", "--period", "hour", "--maximum", "90000")
    visitor = sign_in(caller)
    before = ask(visitor, caller)
    caller.ask()
    refused = caller.ask()
    site.record(refused.call_id)

    after = ask(visitor, caller)
    visitor.get(f"{visitor.workspace}/calls/{refused.call_id}")
    page, recorded = visitor.text, trace(visitor)
    link = re.search(r'href="([^"]*/explain\?[^"]*)"', page)
    assert link is not None
    status = visitor.get(link[1].replace("&amp;", "&"))

    assert before["limits"].startswith("passed")
    for steps in (after, recorded):
        assert steps["budget"].startswith("passed")
        assert steps["limits"].startswith("refused")
        assert "API key: 1 request per minute" in steps["limits"]
        assert "· 1 used · 1 requested" in steps["limits"]
        assert steps["concurrency"].startswith("not_reached")
    assert "90,000 tokens per hour" in after["limits"]
    assert status == 200
    assert trace(visitor)["limits"].startswith("refused")
    assert "rate_limit_exceeded" in visitor.text


def test_address_and_program_that_are_asked_about(site: Site, sign_in: SignIn) -> None:
    caller = site.caller(allowed_ips=["198.51.100.0/24"])
    site.office.do(
        "access_rules", workspace_id=caller.workspace_id, denied_user_agents=["*scraper*"]
    )
    visitor = sign_in(caller)

    own = ask(visitor, caller)
    there = ask(visitor, caller, address="198.51.100.9")
    scraper = ask(visitor, caller, address="198.51.100.9", user_agent="a scraper")

    assert own["address"].startswith("refused")
    assert "127.0.0.1" not in own["address"]
    assert there["address"].startswith("passed")
    assert scraper["user_agent"].startswith("refused")


def test_a_body_that_is_no_call_and_a_model_that_is_not_there(
    caller: Caller, sign_in: SignIn
) -> None:
    visitor = sign_in(caller)

    body = ask(visitor, caller, body='{"messages": "<b>"}')
    said = visitor.text
    unknown = ask(visitor, caller, model="<script>")
    twice = '{"model": "fake-model", "messages": [], "messages": []}'
    status = visitor.post(
        f"{visitor.workspace}/explain",
        {"key": caller.key_id, "endpoint": "chat_completions", "body": twice},
    )

    assert body["request"].startswith("refused")
    assert "Parameter <code>messages</code>" in said
    assert unknown["model"].startswith("refused")
    assert "<script>" not in re.sub(r"<script [^>]*>", "", visitor.text)
    assert status in (200, 422)


def test_a_limit_that_refuses_before_its_turn(site: Site, sign_in: SignIn) -> None:
    """Nothing is read of the files of a call that could not be admitted anyhow."""
    model = site.add_model("reads-no-papers")
    site.office.do("describe_model", name=model, supports_vision=False, supports_pdf=False)
    caller = site.limited_caller(max_requests_per_minute=1, burst=1)
    visitor = sign_in(caller)
    assert caller.ask().status == 200

    refused = ask_about_paper(caller, model, paper(write_pdf("Hello")))
    record = site.record(refused.call_id)
    visitor.get(f"{visitor.workspace}/calls/{refused.call_id}")
    steps = {name: text.partition(" ")[0] for name, text in trace(visitor).items()}

    assert refused.status == 429
    assert record["refusal"]["last_passed"] == "parameters"
    assert (steps["parameters"], steps["limits"]) == ("passed", "refused")
    assert {steps[name] for name in ("files", "money", "budget", "concurrency")} == {"not_reached"}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ('{"a": ' + "[" * 5_000 + "]" * 5_000 + "}", "nested too deeply"),
        ('{"max_tokens": ' + "9" * 5_000 + "}", "a number is out of range"),
        ('{"messages": "\\ud800"}', "not valid JSON"),
        ('{"messages": [], "messages": []}', "refused"),
        ('{"model": 5}', "refused"),
        ('{"max_tokens": NaN}', "not valid JSON"),
        ('{"user": "\\u0000"}', "refused"),
    ],
)
def test_odd_bodies_are_answered(caller: Caller, sign_in: SignIn, body: str, words: str) -> None:
    visitor = sign_in(caller)
    form = {"key": caller.key_id, "endpoint": "chat_completions", "body": body}

    statuses = [
        visitor.post(f"{visitor.workspace}/explain", form | {"model": model})
        for model in ("", "fake-model")
    ]

    assert set(statuses) <= {200, 422}
    assert words in visitor.text
