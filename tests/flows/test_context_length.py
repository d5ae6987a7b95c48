"""Prompts that do not fit into the context of their model are refused before money is held."""

from __future__ import annotations

import pytest

from tests.flows.site import Site

WORDS = 2_000


@pytest.fixture(scope="module")
def short_model(site: Site) -> str:
    return site.add_model("short-context", context_tokens=1_000, max_output_tokens=800)


def test_a_prompt_beyond_the_context_is_refused_and_nothing_is_held(
    site: Site, short_model: str
) -> None:
    caller = site.caller(credit_nusd=0).with_(model=short_model)

    answer = caller.ask("word " * WORDS)

    error = answer.json["error"]
    assert (answer.status, error["code"]) == (400, "context_length_exceeded")
    assert (error["type"], error["param"]) == ("invalid_request_error", "messages")
    assert "1000 tokens" in error["message"]
    [record] = site.records(caller)
    assert (record["status"], record["hold_nusd"]) == ("refused", 0)


def test_output_that_is_asked_for_has_to_fit_behind_the_prompt(
    site: Site, short_model: str
) -> None:
    caller = site.caller().with_(model=short_model)

    refused = caller.ask("word " * 300, max_tokens=750)

    assert refused.json["error"]["code"] == "context_length_exceeded"
    assert "max_tokens" in refused.json["error"]["message"]
    # More than the model writes is clamped first; what nobody asked for need not fit.
    assert caller.ask("word " * 150, max_tokens=5_000).status == 200
    assert caller.ask("word " * 300).status == 200


@pytest.mark.parametrize("prompt", ["x" * 100_000, "ab" * 20_000, "。" * 900, "\n" * 50_000])
def test_what_a_tokenizer_might_make_fit_is_the_providers_to_judge(
    site: Site, short_model: str, prompt: str
) -> None:
    caller = site.caller().with_(model=short_model)

    assert caller.ask(prompt).status == 200
