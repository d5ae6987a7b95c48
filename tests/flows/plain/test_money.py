"""What these calls cost beside what tests/flows/charges compares with the providers' books."""

from __future__ import annotations

import pytest

from tests.flows.plain.asking import PRICES, ask
from tests.flows.site import INPUT_NUSD, Site


@pytest.mark.parametrize("usage", ["none", "raw:null", "raw:7", 'raw:{"prompt_tokens":-1}'])
def test_without_usage_our_own_count_is_charged(site: Site, priced: str, usage: str) -> None:
    caller = site.caller().with_(model=priced)

    answer = ask(caller, "moderations", input=f"script:usage={usage}")

    record = site.record(answer.call_id)
    assert record["charge_basis"] == "estimate"
    assert record["charge_nusd"] == record["prompt_tokens"] * INPUT_NUSD > 0


def test_free_moderation_needs_no_balance(site: Site) -> None:
    answer = ask(site.caller(credit_nusd=0).with_(model="free-model"), "moderations")

    assert answer.status == 200
    assert site.record(answer.call_id)["charge_nusd"] == 0


def test_long_documents_are_several_and_are_held_for(site: Site, priced: str) -> None:
    caller = site.caller().with_(model=priced)
    document = "word " * 2_000

    answer = ask(caller, "rerank", documents=[document] * 60)

    [entry] = site.tries(answer.call_id)
    assert entry["searches"] == 3
    record = site.record(answer.call_id)
    assert record["charge_nusd"] == 3 * PRICES["search"] // 1000
    assert record["absorbed_nusd"] == 0
