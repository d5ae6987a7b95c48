"""Whatever is asked, a stream and a whole answer say the same, count the same and cost the same:
in each format and for each dialect, over generated conversations, against the upstream's own book.
"""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given, settings

from tests.flows.caller import Answer, Caller
from tests.flows.site import INPUT_NUSD, NUSD_PER_USD, OUTPUT_NUSD, Site
from tests.flows.streams_agree.dialects import DIALECTS, Dialect
from tests.flows.streams_agree.formats import FORMATS, Format
from tests.flows.streams_agree.generated import Asked, requests

# `make prove-streams` asks for more.
CASES = int(os.environ.get("CASES", "8"))
CACHED_NUSD, WRITTEN_NUSD, HOUR_NUSD = 100, 1_250, 2_000


@pytest.fixture(scope="session")
def agreeing_site(site: Site) -> Site:
    for dialect in DIALECTS:
        provider = f"{dialect.model}-provider"
        site.office.do(
            "provider",
            name=provider,
            kind=dialect.kind,
            base_url=f"{site.upstream.origin}{dialect.path}",
            credential=dialect.credential,
            settings=dialect.settings,
        )
        site.add_model(
            dialect.model,
            provider=provider,
            native_model=dialect.native_model,
            cached_input_pusd=CACHED_NUSD * 1000,
            unit_prices={"cache_write": WRITTEN_NUSD * 1000, "cache_write_1h": HOUR_NUSD * 1000},
        )
    return site


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_a_stream_and_a_whole_answer_agree(
    agreeing_site: Site, form: Format, dialect: Dialect
) -> None:
    caller = agreeing_site.caller(credit_nusd=100 * NUSD_PER_USD).with_(model=dialect.model)
    calls: list[str] = []

    @settings(max_examples=CASES)
    @given(asked=requests(dialect, is_native=form.name == "messages"))
    def check(asked: Asked) -> None:
        whole, streamed = (ask(form, caller, asked, stream=stream) for stream in (False, True))
        calls.extend((whole.call_id, streamed.call_id))
        assert told_by(form, streamed) == told_by(form, whole)

    check()

    assert len(calls) >= CASES * 2
    for call_id in calls:
        assert_exact(agreeing_site, call_id)


def ask(form: Format, caller: Caller, asked: Asked, *, stream: bool) -> Answer:
    body = form.write(asked, stream=stream) | {"model": caller.model}
    answer = caller.begin(raw=json.dumps(body).encode(), path=form.path).answer()
    assert answer.status == 200, answer.body
    return answer


def told_by(form: Format, answer: Answer) -> dict[str, object]:
    """Return all that an answer says, with what was not passed on."""
    return form.read(answer) | {"dropped": answer.headers.get("x-dropped-params")}


def assert_exact(site: Site, call_id: str) -> None:
    """Assert that a call costs what the upstream's book says."""
    record = site.record(call_id)
    [entry] = site.tries(call_id)
    cached, written = entry["cached_tokens"], entry["cache_write_tokens"]
    for_an_hour = entry["cache_write_1h_tokens"]
    charge_nusd = (entry["prompt_tokens"] - cached - written) * INPUT_NUSD
    charge_nusd += cached * CACHED_NUSD + (written - for_an_hour) * WRITTEN_NUSD
    charge_nusd += for_an_hour * HOUR_NUSD
    charge_nusd += entry["completion_tokens"] * OUTPUT_NUSD
    assert (record["charge_basis"], record["charge_nusd"]) == ("usage", charge_nusd)
