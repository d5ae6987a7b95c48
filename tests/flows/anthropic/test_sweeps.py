"""What the Messages API sends, split and damaged, over sockets."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.corpus.test_upstream_sweeps import TEXT, ask_all, assert_settled, assert_told
from tests.flows.anthropic.conftest import BUDGETED
from tests.flows.caller import Caller
from tests.flows.site import NUSD_PER_USD, Site
from tests.flows.transports import both_transports, named

BOTH = pytest.mark.parametrize("stream", [True, False], ids=["streamed", "buffered"])
QUOTED = quote(TEXT)
MOST_BYTES = 1500  # of such an answer


@pytest.fixture
def rich(claude_site: Site, transport: str) -> Caller:
    caller = claude_site.caller(credit_nusd=100 * NUSD_PER_USD)
    return caller.with_(model=named(BUDGETED, transport))


@BOTH
def test_a_flipped_bit_is_no_fault_of_ours(claude_site: Site, rich: Caller, stream: bool) -> None:
    scripts = [f"text={QUOTED}&flip_bit={bit}" for bit in range(0, 8 * MOST_BYTES, 37)]

    answers = ask_all(rich, scripts, stream=stream)

    good = sum(assert_told(answer, stream=stream) for answer in answers)
    assert_settled(claude_site, rich, answers, good)
    assert 0 < good < len(answers)


@both_transports
@BOTH
def test_an_answer_may_be_split_anywhere(claude_site: Site, rich: Caller, stream: bool) -> None:
    scripts = [f"text={QUOTED}&split_at={place}" for place in range(1, MOST_BYTES, 7)]

    answers = ask_all(rich, scripts, stream=stream)

    assert {answer.text for answer in answers} == {TEXT}
    assert all(assert_told(answer, stream=stream) for answer in answers)
    assert_settled(claude_site, rich, answers, len(answers))
