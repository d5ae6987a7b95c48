"""What Converse sends, split and damaged, over sockets."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.corpus.test_upstream_sweeps import TEXT, ask_all, assert_settled, assert_told
from tests.flows.bedrock.conftest import CLAUDE
from tests.flows.caller import Caller
from tests.flows.site import NUSD_PER_USD, Site

QUOTED = quote(TEXT)
MOST_BYTES = 4000  # of such a stream


@pytest.fixture
def rich(bedrock_site: Site) -> Caller:
    return bedrock_site.caller(credit_nusd=100 * NUSD_PER_USD).with_(model=CLAUDE)


def test_no_flipped_bit_of_a_stream_passes(bedrock_site: Site, rich: Caller) -> None:
    scripts = [f"text={QUOTED}&flip_bit={bit}" for bit in range(0, 8 * MOST_BYTES, 101)]

    answers = ask_all(rich, scripts, stream=True)

    good = sum(assert_told(answer, stream=True) for answer in answers)
    assert_settled(bedrock_site, rich, answers, good)
    # Good are those whose flipped bit would lie behind the stream's end.
    assert all(answer.text == TEXT for answer in answers if assert_told(answer, stream=True))
    assert 0 < good < len(answers)


def test_a_stream_may_be_split_anywhere(bedrock_site: Site, rich: Caller) -> None:
    scripts = [f"text={QUOTED}&split_at={place}" for place in range(1, MOST_BYTES, 13)]

    answers = ask_all(rich, scripts, stream=True)

    assert {answer.text for answer in answers} == {TEXT}
    assert all(assert_told(answer, stream=True) for answer in answers)
    assert_settled(bedrock_site, rich, answers, len(answers))
