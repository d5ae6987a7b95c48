"""What calls may do, done together: files, pages, prompts, models to fall back to, limits, keys
under which answers are kept. Whatever meets, nothing is held for ever and the ledger adds up: the
site looks when it closes.
"""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.site import INPUT_NUSD, NUSD_PER_USD, OUTPUT_NUSD, Site, running_site
from tests.flows.test_concurrency_limits import begin_waiting
from tests.flows.test_files import PDF, PNG, WAIT_S, Slow, as_block, away, said
from tests.flows.test_pdfs import PAGE_NUSD, TWO_PAGES, paper
from tests.support.file_server import FileServer, serving_files
from tests.support.waiting import wait_until

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
PROMPT = "Look closely."


@pytest.fixture(scope="session")
def models(files_site: Site) -> None:
    """lost-pictures and lost-reader, at whose provider nobody listens; dear-pictures, which costs
    ten times as much, has a prompt, and is told nothing that it does not know."""
    do = files_site.office.do
    do("provider", name="lost", base_url="http://127.0.0.1:1/v1")
    prices = {"input_pusd": 10**7, "output_pusd": 2 * 10**7}
    do("model", name="lost-pictures", provider="lost")
    do("model", name="lost-reader", provider="lost")
    do("model", name="dear-pictures", provider="fake", unknown_fields="drop", **prices)
    for name in ("lost-pictures", "dear-pictures"):
        do("describe_model", name=name, supports_vision=True, supports_pdf=False)
    do("describe_model", name="lost-reader", supports_vision=True, supports_pdf=True)
    do("describe_model", name="dear-pictures", default_system_prompt=PROMPT)
    files_site.add_model("last-of-all")


@pytest.fixture
def caller(files_site: Site, models: None) -> Caller:
    return files_site.caller()


@pytest.fixture
def pictures() -> Iterator[FileServer]:
    with serving_files(lambda path: (200, {}, PNG)) as server:
        yield server


def pages(script: str = "script:echo") -> list[dict[str, Any]]:
    """Return messages with a PDF of two pages."""
    return [{"role": "user", "content": [paper(TWO_PAGES)]}, {"role": "user", "content": script}]


@BOTH
def test_pages_are_paid_for_once_where_another_model_with_its_prompt_serves(
    files_site: Site, caller: Caller, stream: bool
) -> None:
    files_site.office.do("limit_key", key_id=caller.key_id, max_requests_per_minute=9, burst=9)
    wait_until(lambda: "x-ratelimit-limit" in caller.ask(temperature=9).headers, what="the limit")

    answer = caller.ask(
        model="lost-pictures",
        models=["dear-pictures"],
        messages=pages("script:tokens=7"),
        max_tokens=40,
        unheard_of=1,
        stream=stream,
    )

    assert answer.status == 200, answer.body
    told = ("model-used", "fallback-from", "dropped-params", "ratelimit-limit")
    assert [answer.headers[f"x-{name}"] for name in told] == [
        *("dear-pictures", "lost-pictures", "unheard_of"),
        "9",
    ]
    record = files_site.record(answer.call_id)
    tokens_nusd = 10 * (
        record["prompt_tokens"] * INPUT_NUSD + record["completion_tokens"] * OUTPUT_NUSD
    )
    assert record["charge_nusd"] == tokens_nusd + 2 * PAGE_NUSD <= record["hold_nusd"]
    assert files_site.balance_nusd(caller) == NUSD_PER_USD - record["charge_nusd"]


def test_another_model_gets_its_prompt_before_the_pages(caller: Caller) -> None:
    answer = caller.ask(model="lost-pictures", models=["dear-pictures"], messages=pages())

    sent = json.loads(answer.echo["body_text"])["messages"]
    assert sent[0] == {"role": "system", "content": PROMPT}
    assert [block["type"] for block in sent[1]["content"]] == ["text", "image_url"] * 2


@BOTH
def test_pages_that_nobody_was_given_cost_nothing(
    files_site: Site, caller: Caller, stream: bool
) -> None:
    answer = caller.ask(
        model="lost-pictures",
        models=["dear-pictures"],
        messages=pages("script:fail=503"),
        stream=stream,
    )

    assert answer.error["details"]["attempts"][1]["model"] == "dear-pictures"
    record = files_site.record(answer.call_id)
    assert (record["charge_nusd"], record["absorbed_nusd"]) == (0, 2 * PAGE_NUSD)
    assert (record["model"], record["fallback_depth"]) == ("dear-pictures", 1)


def test_who_leaves_before_a_word_of_another_model_pays_its_prompt_and_the_pages(
    files_site: Site, caller: Caller
) -> None:
    options: dict[str, Any] = {
        "model": "lost-pictures",
        "models": ["dear-pictures"],
        "stream": True,
    }
    with caller.begin(messages=pages("script:hang"), **options) as live:
        [running] = files_site.running(caller, count=1)
        files_site.wait_for_try(running["id"], state="running")
        live.reset()

    record = files_site.record(running["id"])
    assert (record["status"], record["charge_basis"]) == ("cancelled", "estimate")
    assert (record["completion_tokens"], record["absorbed_nusd"]) == (0, 0)
    assert record["prompt_tokens"] > 0
    prompt_nusd = 10 * record["prompt_tokens"] * INPUT_NUSD
    assert record["charge_nusd"] == prompt_nusd + 2 * PAGE_NUSD


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside a fetched file"])
def test_a_model_that_reads_no_pdfs_is_not_fallen_back_to_with_one(
    files_site: Site, caller: Caller, pictures: FileServer, beside: bool
) -> None:
    blocks = [paper(PDF), *([away(pictures.url("/a.png"))] if beside else [])]

    answer = caller.ask(
        model="lost-reader",
        models=["picture-model", "all-seeing"],
        messages=said(*blocks),
    )

    assert answer.headers["x-model-used"] == "all-seeing"
    assert answer.headers["x-fallback-depth"] == "1"
    sent = json.loads(answer.echo["body_text"])["messages"][0]["content"]
    assert sent[0] == as_block("report.pdf", "application/pdf", PDF)


def test_a_dear_fallback_takes_nothing_from_what_a_key_may_spend(
    files_site: Site, caller: Caller
) -> None:
    limit_nusd = 700 * OUTPUT_NUSD
    limited = files_site.limited_caller(daily_limit_nusd=limit_nusd)
    options: dict[str, Any] = {"models": ["dear-pictures"], "max_tokens": 600}

    served = limited.ask("script:tokens=1", **options)
    saved = limited.ask("script:echo", model="lost-reader", **options)

    assert (served.status, served.headers["x-model-used"]) == (200, "fake-model")
    for answer in (served, saved):
        assert files_site.record(answer.call_id)["hold_nusd"] <= limit_nusd
    # The dear model, too, gets what is held for the other.
    assert saved.headers["x-model-used"] == "dear-pictures"
    assert json.loads(saved.echo["body_text"])["max_tokens"] < 60
    too_much = limited.ask(max_tokens=3000, models=["dear-pictures"])
    assert (too_much.status, too_much.error["code"]) == (402, "key_limit_exceeded")


def test_an_answer_that_was_kept_takes_no_request_and_no_place(
    files_site: Site, caller: Caller
) -> None:
    limited = files_site.limited_caller(max_requests_per_minute=1, burst=2, max_concurrent=1)
    headers = {"idempotency-key": "kept"}
    first = limited.ask(headers=headers)
    with limited.begin("script:endless&delay_ms=20", stream=True) as live:
        live.wait_for_tokens(1)

        again = limited.ask(headers=headers)

        assert (again.body, again.headers["idempotent-replayed"]) == (first.body, "true")
        assert again.headers["x-ratelimit-remaining"] == "0"
        assert limited.ask().status == 429
        live.leave()


def test_who_leaves_the_line_with_files_and_a_key_of_its_own_leaves_nothing(
    files_site: Site, caller: Caller, pictures: FileServer
) -> None:
    single = files_site.limited_caller(max_concurrent=1, max_requests_per_minute=1, burst=100)
    wish: dict[str, Any] = {
        "model": "lost-reader",
        "models": ["all-seeing"],
        "messages": said(away(pictures.url("/a.png")), script="script:tokens=1"),
        "headers": {"idempotency-key": "left"},
    }
    with single.begin("script:endless&delay_ms=20", stream=True, max_tokens=5000) as running:
        running.wait_for_tokens(1)
        [waiting] = begin_waiting(single, **wish)
        waiting.reset()

        def find() -> list[dict[str, Any]]:
            found = files_site.records(single)
            return [record for record in found if record["error_code"] == "client_cancelled"]

        [left] = wait_until(find, what="the record of who left")
        running.leave()

    answer = single.ask(**wish)

    assert (left["status"], left["charge_nusd"]) == ("refused", 0)
    assert (answer.status, answer.headers["x-model-used"]) == (200, "all-seeing")
    assert "idempotent-replayed" not in answer.headers
    assert len(pictures.requests) == 2


def test_nothing_is_fetched_for_whom_has_no_request_left(
    files_site: Site, caller: Caller, pictures: FileServer
) -> None:
    limited = files_site.limited_caller(max_requests_per_minute=1, burst=1)
    poor = files_site.limited_caller(total_limit_nusd=10)
    messages = said(away(pictures.url("/a.png")))
    assert limited.ask().status == 200

    answers = [one.ask(model="all-seeing", messages=messages) for one in (limited, poor)]

    assert [answer.status for answer in answers] == [429, 402]
    assert pictures.requests == []


@BOTH
def test_all_that_was_written_is_stored_where_a_workspace_wants_that(
    site: Site, stream: bool
) -> None:
    there_is_none = f"none-{stream}"
    site.office.do("provider", name=there_is_none, base_url="http://127.0.0.1:1/v1")
    site.add_model(there_is_none, provider=there_is_none)
    keeper = site.caller()
    site.office.do("store_bodies", workspace_id=keeper.workspace_id)
    wait_until(lambda: stored(site, keeper.ask("script:tokens=1")), what="bodies to be stored")

    answer = keeper.ask(
        "script:first_ms=1500&tokens=40&delay_ms=5",
        model=there_is_none,
        models=["fake-model"],
        stream=stream,
    )

    assert answer.headers["x-fallback-depth"] == "1"
    body = stored(site, answer)
    assert body["response"].encode() == answer.body
    assert json.loads(body["request"])["models"] == ["fake-model"]


def stored(site: Site, answer: Answer) -> dict[str, str]:
    """Return what is stored of an answered call's words, nothing where none are."""
    site.record(answer.call_id)
    return site.office.do("body", call_id=answer.call_id) or {}


def test_a_server_that_stops_tells_who_waits_for_files(home: Path) -> None:
    env = {"TOLLHOUSE_FETCH_ALLOWED_NETWORKS": "127.0.0.1/32", "TOLLHOUSE_DRAIN_S": "1"}
    slow = Slow()
    with running_site(home, env) as site, serving_files(slow) as server:
        caller = site.caller()
        live = caller.begin(messages=said(away(server.url("/a.pdf"))))
        assert slow.asked.wait(WAIT_S)

        site.gateway.process.send_signal(signal.SIGTERM)

        answer = live.answer()
        slow.let_go.set()
        assert site.gateway.stop() in (0, -signal.SIGTERM)
        assert (answer.status, answer.error["code"]) == (503, "server_restarting")
        assert "Traceback" not in site.gateway.log.read_text()
        assert site.office.do("drawn_nusd") == 0
