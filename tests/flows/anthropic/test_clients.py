"""The openai SDK talks to Claude as to any model, and the catalogue knows the provider."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import openai
import pytest

from tests.flows.anthropic.conftest import ADAPTIVE, BUDGETED
from tests.flows.caller import Caller
from tests.flows.openai_sdk import (
    assert_fallbacks_cross_dialects,
    assert_provider_can_be_tested,
    assert_schema_is_kept,
    assert_stream_is_joined,
    assert_tools_are_looped,
    open_client,
)
from tests.flows.site import Site


@pytest.fixture
def client(claude_site: Site, claude: Caller) -> Iterator[openai.OpenAI]:
    with open_client(claude_site, claude) as opened:
        yield opened


@pytest.mark.parametrize("model", [BUDGETED, ADAPTIVE])
def test_a_loop_of_tools_comes_to_its_end(client: openai.OpenAI, model: str) -> None:
    assert_tools_are_looped(client, model)


def test_the_sdk_puts_a_stream_of_calls_together(client: openai.OpenAI) -> None:
    assert_stream_is_joined(client, BUDGETED)


def test_the_sdk_gets_an_answer_that_fits_a_schema(client: openai.OpenAI) -> None:
    assert_schema_is_kept(client, BUDGETED)


def test_a_refusal_is_the_sdks_own_error(client: openai.OpenAI) -> None:
    asked: Any = [{"role": "user", "content": "script:fail=429&retry_after=9"}]

    with pytest.raises(openai.RateLimitError) as caught:
        client.chat.completions.create(model=BUDGETED, messages=asked)

    assert caught.value.response.headers["retry-after"] == "9"


def test_a_fallback_may_be_of_another_dialect(claude: Caller) -> None:
    assert_fallbacks_cross_dialects(claude, BUDGETED, failure="fail=529")


def test_the_provider_can_be_tested(claude_site: Site) -> None:
    assert_provider_can_be_tested(claude_site, kind="anthropic", path="/anthropic/v1")
