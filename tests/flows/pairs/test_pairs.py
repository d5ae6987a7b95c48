"""Every format that callers speak against every dialect that providers speak.

What is sent is judged by the fake upstream, as the provider would; what comes back is judged by the
types of the SDK that speaks the caller's format.
"""

from __future__ import annotations

import json

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.messages.asking import events_of
from tests.flows.pairs.conversation import (
    ANSWER_SCHEMA,
    PAGE,
    PDF,
    TOOL,
    Body,
    Format,
    Own,
    Result,
    Said,
    Turn,
    User,
    Wishes,
)
from tests.flows.pairs.dialects import Dialect
from tests.flows.pairs.routes import BOTH_TRANSPORTS, ROUTES
from tests.flows.site import INPUT_NUSD, OUTPUT_NUSD, Site

STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
# What the provider answers, and what the caller is told.
ERRORS = [
    ("fail=400", 400, "invalid_request"),
    ("fail=401", 502, "provider_auth"),
    ("fail=403", 502, "provider_auth"),
    ("fail=429", 429, "provider_rate_limit"),
    ("fail=500", 502, "provider_unavailable"),
]
# How a stream ends too early.
BREAKS = ("reset_after=2", "truncate_after=2", "error_after=2", "close_after=2", "plant=")
# How a buffered answer goes wrong.
FAULTS = (
    "drop=reset",
    "drop=close",
    "truncate_at_byte=40",
    "reset_at_byte=40",
    "fail=500&body=html",
)
WITH_STOP = [route for route in ROUTES if route.form.takes_stop]
IN_MESSAGES = [route for route in ROUTES if route.form.name == "messages"]


def ask(form: Format, caller: Caller, *turns: Turn | str, **wishes: object) -> Answer:
    """Make a call and read all of its answer."""
    said = [User(turn) if isinstance(turn, str) else turn for turn in turns]
    return form.begin(caller, said, Wishes(**wishes)).answer()  # type: ignore[arg-type]


def hear(form: Format, caller: Caller, *turns: Turn | str, **wishes: object) -> Said:
    """Make a call that is answered well, and understand it."""
    answer = ask(form, caller, *turns, **wishes)
    assert answer.status == 200, answer.body
    return form.read(answer)


@BOTH_TRANSPORTS
@STREAMED
def test_text_and_its_price(pairs_site: Site, form: Format, caller: Caller, stream: bool) -> None:
    answer = ask(form, caller, "script:tokens=3", system="Be brief.", stream=stream)

    said = form.read(answer)
    assert (said.text.strip(), said.finish) == ("tok0 tok1 tok2", "stop")
    record = pairs_site.record(answer.call_id)
    [entry] = pairs_site.tries(answer.call_id)
    counted = (entry["prompt_tokens"], entry["completion_tokens"])
    assert (said.prompt_tokens, said.completion_tokens) == counted
    assert record["charge_nusd"] == counted[0] * INPUT_NUSD + counted[1] * OUTPUT_NUSD


@BOTH_TRANSPORTS
@STREAMED
def test_tools_are_called_and_their_results_read(
    form: Format, caller: Caller, stream: bool
) -> None:
    asked = "script:tools=2&tokens=2"
    wishes = {"has_tools": True, "stream": stream}

    said = hear(form, caller, asked, **wishes)

    assert said.finish == "tool_calls"
    assert [(call.name, call.arguments) for call in said.calls] == [(TOOL, {"city": "Paris"})] * 2
    assert said.calls[0].id != said.calls[1].id
    results = [Result(call.id, f"Rain in {call.id}") for call in said.calls]
    after = hear(form, caller, User(asked), Own(said.turn), *results, **wishes)
    assert (after.text.strip(), after.finish) == ("tok0 tok1", "stop")


@STREAMED
@pytest.mark.parametrize("choice", ["forced", "auto", "none"])
def test_the_choice_of_a_tool_is_carried(
    form: Format, caller: Caller, choice: str, stream: bool
) -> None:
    script = "script:tokens=1" if choice == "none" else "script:tools=1"

    said = hear(form, caller, script, has_tools=True, tool_choice=choice, stream=stream)

    assert [call.name for call in said.calls] == ([] if choice == "none" else [TOOL])


@STREAMED
def test_pictures_and_documents_are_seen(
    form: Format, caller: Caller, dialect: Dialect, stream: bool
) -> None:
    seen = User("script:tokens=1", has_image=True, has_document=dialect.has_documents)

    assert hear(form, caller, seen, stream=stream).text.strip() == "tok0"


@STREAMED
def test_a_document_that_cannot_be_sent_is_told_in_words(
    form: Format, caller: Caller, dialect: Dialect, stream: bool
) -> None:
    if dialect.has_documents:
        return
    paper = User("Read this.", has_document=True)

    said = hear(form, caller, paper, "script:echo", stream=stream)

    body = json.loads(said.text)["body_text"]
    assert PAGE in body
    assert PDF not in body


@STREAMED
def test_an_answer_fits_its_schema(
    form: Format, caller: Caller, dialect: Dialect, stream: bool
) -> None:
    answer = ask(form, caller, "The weather, please.", schema=ANSWER_SCHEMA, stream=stream)

    if dialect.has_schema:
        assert json.loads(form.read(answer).text) == {"city": "tok0", "degrees": 7}
    else:
        assert (answer.status, form.code_of(answer)) == (400, "unsupported_parameter")


@STREAMED
@pytest.mark.parametrize("wrong", [{"type": "nonsense"}, {"$ref": "#/$defs/nowhere"}], ids=str)
def test_a_schema_that_makes_no_sense_is_refused(
    form: Format, caller: Caller, wrong: Body, stream: bool
) -> None:
    schema = ANSWER_SCHEMA | {"properties": {"city": wrong, "degrees": {"type": "integer"}}}

    answer = ask(form, caller, "The weather, please.", schema=schema, stream=stream)

    assert answer.status == 400, answer.body


@STREAMED
def test_signed_reasoning_goes_back_on_the_next_turn(
    form: Format, caller: Caller, dialect: Dialect, stream: bool
) -> None:
    calls = dialect.signs == "calls"
    asked = "script:tokens=1&reasoning=3&details&reasoning_field=reasoning" + "&tools=1" * calls
    said = hear(form, caller, asked, thinks=True, has_tools=calls, stream=stream)
    assert said.reasoning.split() == ["think0", "think1", "think2"]

    results = [Result(call.id, "Rain") for call in said.calls]
    turns: list[Turn] = [User(asked), Own(said.turn), *results, User("script:echo")]
    answer = ask(form, caller, *turns, thinks=True, has_tools=calls)

    body = json.loads(form.read(answer).text)["body_text"]
    dropped = set(answer.headers.get("x-dropped-params", "").split(","))
    assert ("signature" in body.lower()) == bool(dialect.signs)
    named = {"reasoning", "reasoning_details", "messages.thinking", "input.reasoning"}
    assert "think0" in body or dialect.signs or dropped & named


@STREAMED
@pytest.mark.parametrize("route", WITH_STOP, indirect=True, ids=str)
def test_a_stop_sequence_is_carried(form: Format, caller: Caller, stream: bool) -> None:
    said = hear(form, caller, "script:echo", stop="HALT!", stream=stream)

    assert "HALT!" in json.loads(said.text)["body_text"]


@STREAMED
def test_the_limit_ends_an_answer(form: Format, caller: Caller, stream: bool) -> None:
    said = hear(form, caller, "script:tokens=60", max_tokens=20, stream=stream)

    assert (said.finish, said.completion_tokens) == ("length", 20)


@STREAMED
def test_a_refusal_is_told(form: Format, caller: Caller, dialect: Dialect, stream: bool) -> None:
    if not dialect.refusal:
        return  # its models say it in words
    said = hear(form, caller, f"script:tokens=1&finish={dialect.refusal}", stream=stream)

    assert said.finish == "content_filter"


@STREAMED
def test_tokens_from_the_cache_are_told(
    pairs_site: Site, form: Format, caller: Caller, dialect: Dialect, stream: bool
) -> None:
    answer = ask(form, caller, "script:tokens=2&cached=300", system="word " * 999, stream=stream)

    said = form.read(answer)
    assert said.cached_tokens == (300 if dialect.has_cache else 0)
    assert said.prompt_tokens == pairs_site.record(answer.call_id)["prompt_tokens"] > 900


@pytest.mark.parametrize("route", IN_MESSAGES, indirect=True, ids=str)
def test_a_stream_of_messages_begins_with_what_is_known_of_its_prompt(
    form: Format, caller: Caller, dialect: Dialect
) -> None:
    answer = ask(form, caller, "script:cached=300", system="word " * 999, stream=True)

    said = form.read(answer)
    told = events_of(answer)[0]["message"]["usage"]
    cached = told["cache_read_input_tokens"]
    counted = told["input_tokens"] + cached
    if dialect.tells_prompt:
        assert (counted, cached) == (said.prompt_tokens, said.cached_tokens)
    else:
        assert (cached, said.prompt_tokens / 2 < counted < said.prompt_tokens * 2) == (0, True)


@BOTH_TRANSPORTS
@STREAMED
@pytest.mark.parametrize(("script", "status", "code"), ERRORS)
def test_refusals_of_the_provider_have_one_meaning(
    pairs_site: Site,
    form: Format,
    caller: Caller,
    script: str,
    status: int,
    code: str,
    stream: bool,
) -> None:
    answer = ask(form, caller, f"script:{script}", stream=stream)

    assert (answer.status, form.code_of(answer)) == (status, code), answer.body
    assert pairs_site.record(answer.call_id)["charge_nusd"] == 0


@BOTH_TRANSPORTS
@pytest.mark.parametrize("fault", BREAKS)
def test_a_stream_that_breaks_off_fails_and_costs_nothing(
    pairs_site: Site, form: Format, caller: Caller, dialect: Dialect, fault: str
) -> None:
    told = dialect.nonsense if fault == "plant=" else ""
    answer = ask(form, caller, f"script:tokens=9&{fault}{told}", stream=True)

    assert answer.status == 200
    assert form.is_broken(answer), answer.body
    record = pairs_site.record(answer.call_id)
    assert (record["status"], record["charge_nusd"]) == ("upstream_error", 0)


@BOTH_TRANSPORTS
@pytest.mark.parametrize("fault", FAULTS)
def test_an_answer_that_cannot_be_read_is_a_fault_of_the_provider(
    pairs_site: Site, form: Format, caller: Caller, fault: str
) -> None:
    answer = ask(form, caller, f"script:tokens=9&{fault}")

    assert (answer.status, form.code_of(answer)) == (502, "provider_unavailable"), answer.body
    assert pairs_site.record(answer.call_id)["charge_nusd"] == 0


@BOTH_TRANSPORTS
@STREAMED
def test_who_hangs_up_pays_what_was_made(
    pairs_site: Site, form: Format, alone: Caller, stream: bool
) -> None:
    turns: list[Turn] = [User("script:tokens=500&delay_ms=10")]
    with form.begin(alone, turns, Wishes(stream=stream)) as live:
        if stream:
            lines = live.lines()
            while "tok3" not in next(lines):
                pass
        else:
            pairs_site.running(alone, count=1)
        live.leave()

    [record] = pairs_site.records(alone)
    assert record["status"] == "cancelled"
    assert record["charge_nusd"] >= record["prompt_tokens"] * INPUT_NUSD > 0
