"""An event that is too large, from a provider of each dialect, over both transports."""

from __future__ import annotations

from tests.flows.caller import Answer, Caller
from tests.flows.pairs.dialects import DIALECTS
from tests.flows.site import Site
from tests.flows.transports import TRANSPORTS, named

MODELS = [named(dialect.model, transport) for dialect in DIALECTS for transport in TRANSPORTS]
# In base64, as Anthropic's events are on Bedrock, it is still below a megabyte.
LARGE, TOO_LARGE = 700_000, 2_000_000


def ask_all(payer: Caller, size: int) -> dict[str, Answer]:
    """Ask each model for one token of this size, and return the answers by the model."""
    script = f"script:tokens=1&token_bytes={size}"
    return {model: payer.with_(model=model).stream(script) for model in MODELS}


def test_a_large_event_is_passed_on(payer: Caller) -> None:
    answers = ask_all(payer, LARGE)

    assert {model: len(one.text) for model, one in answers.items()} == dict.fromkeys(MODELS, LARGE)


def test_an_event_that_is_too_large_ends_the_stream(pairs_site: Site, payer: Caller) -> None:
    answers = ask_all(payer, TOO_LARGE)

    told = {}
    for model, answer in answers.items():
        # A busy machine may have begun the answer with a keep-alive.
        error = answer.error if answer.status == 502 else answer.chunks[-1]["error"]
        told[model] = error["code"], "too large" in error["message"]
    assert told == dict.fromkeys(MODELS, ("provider_unavailable", True))
    for answer in answers.values():
        assert pairs_site.record(answer.call_id)["charge_nusd"] == 0
