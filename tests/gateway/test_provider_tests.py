"""What the test of a provider's connection says, over real sockets."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gateway.outbound.findings import Finding, Outcome
from gateway.outbound.permitted_addresses import is_metadata
from gateway.outbound.provider_check import check_provider
from gateway.providers.catalogue import ProviderKind
from gateway.services.provider_tests import warn_of_unknown_model
from tests.support.mute_servers import closing_each, listening, self_signed
from tests.support.ports import free_port
from tests.support.servers import UpstreamServer

WRONG_KEY = "sk-canary-5f1e0c77"


def check(base_url: str, *, secret: str = "", key_path: str = "", check_s: float = 30) -> Finding:
    return asyncio.run(
        check_provider(
            base_url,
            ProviderKind("a_kind", "A kind", key_path=key_path),
            secret=secret,
            permits=lambda address, port: not is_metadata(address),
            check_s=check_s,
        )
    )


@pytest.mark.parametrize(
    ("place", "outcome", "words"),
    [
        ("v1", Outcome.REACHABLE, "lists 1 model."),
        ("array/v1", Outcome.REACHABLE, "lists 1 model."),
        ("listless/v1", Outcome.REACHABLE, "no list of models"),
        ("keyed/v1", Outcome.KEY_REFUSED, "key was rejected: it answered 401"),
        ("nowhere/v1", Outcome.NOT_FOUND, "No API at this path: /nowhere/v1/models answered 404"),
        ("page/v1", Outcome.NOT_OPENAI, "not with OpenAI's API"),
        ("moved/v1", Outcome.REDIRECT, "redirects (301"),
        ("down/v1", Outcome.BAD_STATUS, "answered 503 (Service Unavailable)"),
    ],
)
def test_what_answers_is_said_in_words_and_costs_nothing(
    upstream: UpstreamServer, place: str, outcome: Outcome, words: str
) -> None:
    before = upstream.book()

    finding = check(f"{upstream.origin}/{place}", secret=WRONG_KEY)

    assert (finding.outcome, words in finding.message) == (outcome, True), finding
    assert WRONG_KEY not in str(finding)
    billed = [call for call in upstream.book()[len(before) :] if call["state"] != "failed"]
    assert billed == []


def test_a_key_that_is_missing_and_one_that_is_right_are_told_apart(
    upstream: UpstreamServer,
) -> None:
    base = f"{upstream.origin}/keyed/v1"

    without, right = check(base), check(base, secret="sk-right")

    assert (without.outcome, without.message[:27]) == (
        Outcome.KEY_REFUSED,
        "The provider requires a key",
    )
    assert right.models == frozenset({"fake"})


def test_where_the_list_is_public_the_key_is_tried_elsewhere(upstream: UpstreamServer) -> None:
    """As at OpenRouter, which lists its models to everybody."""
    found = check(f"{upstream.origin}", secret=WRONG_KEY, key_path="/keyed/v1/models")

    assert found.outcome is Outcome.KEY_REFUSED


def test_what_does_not_answer_is_said_in_words(upstream: UpstreamServer, tmp_path: Path) -> None:
    nobody = free_port()
    found = {
        "refused": check(f"http://127.0.0.1:{nobody}/v1"),
        "name": check("https://no-such-host.invalid/v1"),
        "plain": check(f"https://127.0.0.1:{upstream.port}/v1"),
        "metadata": check("http://169.254.169.254/v1"),
    }
    with self_signed(tmp_path) as address:
        found["certificate"] = check(address)
    with closing_each() as address:
        found["closed"] = check(address)
    with listening() as server:
        found["silent"] = check(f"http://127.0.0.1:{server.getsockname()[1]}/v1", check_s=0.3)

    assert {name: finding.outcome for name, finding in found.items()} == {
        "refused": Outcome.REFUSED,
        "name": Outcome.DNS,
        "plain": Outcome.TLS,
        "metadata": Outcome.NOT_PERMITTED,
        "certificate": Outcome.TLS,
        "closed": Outcome.NOT_HTTP,
        "silent": Outcome.TIMEOUT,
    }
    assert found["refused"].message == (
        f"Connection refused: nothing listens at 127.0.0.1, port {nobody}."
    )
    assert "no-such-host.invalid" in found["name"].message
    assert "(DNS)" in found["name"].message
    assert "begin with http://?" in found["plain"].message
    assert "TLS certificate is not valid: self" in found["certificate"].message
    assert "within 0.3 s" in found["silent"].message


def test_a_model_that_is_not_on_the_list_is_told_with_what_is_like_it() -> None:
    listed = Finding(Outcome.REACHABLE, "", frozenset({"gpt-5-mini", "gpt-5", "o4"}))

    assert warn_of_unknown_model(listed, "gpt-5") == ""
    assert warn_of_unknown_model(Finding(Outcome.REACHABLE, ""), "gpt-6") == ""
    assert "Similar: gpt-5-mini." in warn_of_unknown_model(listed, "gpt5-mini")
