"""The openai SDK talks to Gemini as to any model, and the catalogue knows the provider."""

from __future__ import annotations

from collections.abc import Iterator

import openai
import pytest

from tests.flows.caller import Caller
from tests.flows.gemini.conftest import FLASH, NEWEST
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
def client(gemini_site: Site, gemini: Caller) -> Iterator[openai.OpenAI]:
    with open_client(gemini_site, gemini) as opened:
        yield opened


@pytest.mark.parametrize("model", [FLASH, NEWEST])
def test_a_loop_of_tools_comes_to_its_end(client: openai.OpenAI, model: str) -> None:
    assert_tools_are_looped(client, model)


def test_the_sdk_puts_a_stream_of_calls_together(client: openai.OpenAI) -> None:
    assert_stream_is_joined(client, NEWEST)


def test_the_sdk_gets_an_answer_that_fits_a_schema(client: openai.OpenAI) -> None:
    assert_schema_is_kept(client, FLASH)


def test_a_fallback_may_be_of_another_dialect(gemini: Caller) -> None:
    assert_fallbacks_cross_dialects(gemini, FLASH, failure="fail=503")


def test_the_provider_can_be_tested(gemini_site: Site) -> None:
    kind, path = "google_ai_studio_gemini", "/gemini/v1beta"
    assert_provider_can_be_tested(gemini_site, kind=kind, path=path)
