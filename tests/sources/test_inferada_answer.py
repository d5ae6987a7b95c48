"""Inferada, the answer: items S0-19 to S0-30 and S0-38 to S0-44."""

from __future__ import annotations

from uuid import UUID

from tests.flows.caller import DONE, Answer
from tests.flows.site import Site
from tests.flows.test_concurrency_limits import begin_waiting, let_in
from tests.sources.product import Client, client_of
from tests.support.waiting import wait_until

SLOW = "script:tokens=8&first_ms=50"


def test_S0_19_the_id_is_the_request_id_behind_a_prefix(inferada: Client) -> None:
    answer = inferada.ask(stream=False)

    assert answer.json["id"] == f"chatcmpl-{answer.call_id}"
    assert UUID(answer.call_id).version == 7


def test_S0_20_choices_have_openais_shape(inferada: Client) -> None:
    [choice] = inferada.ask("script:text=Hello!", stream=False).json["choices"]

    message = choice.pop("message")
    assert (message["role"], message["content"]) == ("assistant", "Hello!")
    assert choice == {"index": 0, "finish_reason": "stop", "logprobs": None}


def test_S0_21_usage_has_the_three_counts(inferada: Client) -> None:
    usage = inferada.ask("one two three", stream=False).json["usage"]

    assert (usage["prompt_tokens"], usage["completion_tokens"]) == (3, 10)
    assert usage["total_tokens"] == 13


def test_S0_22_every_buffered_answer_has_timings(inferada: Client) -> None:
    buffered = inferada.ask(stream=False)
    streamed = inferada.ask(stream=True)

    assert {"total_ms", "upstream_ms"} <= set(buffered.json["timings"])
    assert all("timings" not in chunk for chunk in streamed.chunks)


def test_S0_24_total_ms_covers_everything(inferada: Client) -> None:
    timings = inferada.ask(SLOW, stream=False).json["timings"]

    others = ("upstream_ms", "queued_ms", "processors_ms", "failed_ms", "gateway_ms")
    assert timings["total_ms"] == sum(timings.get(name, 0) for name in others)
    assert isinstance(timings["total_ms"], int)


def test_S0_25_upstream_ms_is_what_the_model_took(inferada: Client) -> None:
    timings = inferada.ask(SLOW, stream=False).json["timings"]

    assert 40 <= timings["upstream_ms"] <= timings["total_ms"]


def test_S0_26_tokens_per_second_is_tokens_over_upstream_time(inferada: Client) -> None:
    timings = inferada.ask(SLOW, stream=False).json["timings"]
    silent = inferada.ask("script:tokens=0&first_ms=5", stream=False).json["timings"]

    # The milliseconds are whole, the speed is not made of them.
    slowest, fastest = (8 * 1000 / (timings["upstream_ms"] + half) for half in (0.5, -0.5))
    assert slowest - 0.01 <= timings["tokens_per_second"] <= fastest + 0.01
    assert "tokens_per_second" not in silent


def test_S0_28_queued_ms_is_absent_when_nothing_waited(inferada: Client) -> None:
    assert "queued_ms" not in inferada.ask(SLOW, stream=False).json["timings"]


def test_S0_29_the_queue_header_is_absent_when_nothing_waited(inferada: Client) -> None:
    assert "x-inferada-queued-ms" not in inferada.ask(SLOW, stream=True).headers


def test_S0_28_queued_ms_says_how_long_a_slot_was_waited_for(site: Site) -> None:
    answers = two_at_once(site, stream=False)

    waited = [answer.json["timings"].get("queued_ms") for answer in answers]
    assert waited.count(None) == 1
    assert all(ms is None or (isinstance(ms, int) and ms > 0) for ms in waited)
    for answer in answers:
        timings = answer.json["timings"]
        parts = ("upstream_ms", "queued_ms", "gateway_ms")
        assert timings["total_ms"] == sum(timings.get(name, 0) for name in parts)


def test_S0_29_a_stream_says_the_same_in_its_head(site: Site) -> None:
    answers = two_at_once(site, stream=True)

    waited = [answer.headers.get("x-inferada-queued-ms") for answer in answers]
    assert waited.count(None) == 1
    assert all(ms is None or int(ms) > 0 for ms in waited)


def two_at_once(site: Site, *, stream: bool) -> list[Answer]:
    """Return the answers of two calls of which one has to wait for the other."""
    limits = {"max_concurrent": 1, "max_requests_per_minute": 1, "burst": 1000}
    client = client_of(site, "inferada", limits=limits)
    running = client.begin(f"script:gate={client.key_id}", stream=stream)
    wait_until(lambda: let_in(client) == 1, what="a call to run")
    [waiting] = begin_waiting(client, stream=stream)
    site.upstream.open_gate(client.key_id)
    return [running.answer(), waiting.answer()]


def test_S0_30_gateway_ms_is_the_rest_and_absent_when_zero(inferada: Client) -> None:
    timings = inferada.ask(SLOW, stream=False).json["timings"]

    assert timings.get("gateway_ms") != 0
    assert timings["total_ms"] - timings["upstream_ms"] == timings.get("gateway_ms", 0)


def test_S0_38_a_stream_is_server_sent_events_that_end_in_done(inferada: Client) -> None:
    answer = inferada.ask(stream=True)

    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert all(frame.startswith("data: ") for frame in answer.frames)
    assert answer.events[-1] == DONE
    assert {chunk["object"] for chunk in answer.chunks} == {"chat.completion.chunk"}


def test_S0_39_role_then_content_then_a_frame_that_only_finishes(inferada: Client) -> None:
    answer = inferada.ask("script:text=Hello+there", stream=True)

    first, *middle, last = [chunk["choices"][0] for chunk in answer.chunks]
    assert first["delta"]["role"] == "assistant"
    assert "".join(choice["delta"]["content"] for choice in middle) == "Hello there"
    assert (last["delta"], last["finish_reason"]) == ({}, "stop")
    assert [choice["finish_reason"] for choice in (first, *middle)] == [None] * (1 + len(middle))


def test_S0_40_a_stream_shows_no_usage_unless_asked(inferada: Client) -> None:
    silent = inferada.ask(stream=True)
    asked = inferada.ask(stream=True, stream_options={"include_usage": True})

    assert all("usage" not in chunk for chunk in silent.chunks)
    assert asked.chunks[-1]["choices"] == []
    assert asked.chunks[-1]["usage"]["completion_tokens"] == 10


def test_S0_42_models_are_those_the_token_may_use(inferada: Client) -> None:
    answer = inferada.get("models")

    assert (answer.status, answer.json["object"]) == (200, "list")
    names = [model["id"] for model in answer.json["data"]]
    assert names == sorted(names)
    assert "qwen3.5-35b" in names


def test_S0_43_a_model_says_who_owns_it_and_what_it_is_called(inferada: Client) -> None:
    models = {model["id"]: model for model in inferada.get("models").json["data"]}

    model = models["qwen3.5-35b"]
    assert (model["object"], model["owned_by"]) == ("model", "inferada")
    assert model["created"] > 1_700_000_000
    assert model["display_name"] == "Qwen3.5-35B"
    assert "description" in model


def test_S0_44_allowed_models_filter_the_list_and_the_calls(site: Site) -> None:
    client = client_of(site, "inferada", allowed_models=["qwen3.5-35b"])

    listed = [model["id"] for model in client.get("models").json["data"]]
    allowed = client.ask(model="qwen3.5-35b", stream=False)
    hidden = client.ask(model="hidden-model")

    assert listed == ["qwen3.5-35b"]
    assert allowed.status == 200
    assert (hidden.status, hidden.error["code"]) == (403, "model_not_allowed")
    assert hidden.error["param"] == "model"


def test_S0_23_without_processors_the_answer_says_nothing_of_them(inferada: Client) -> None:
    buffered = inferada.ask(inferada={"processors": []}, stream=False)
    streamed = inferada.ask(inferada={"processors": []}, stream=True)

    assert all("inferada" not in body for body in (buffered.json, *streamed.chunks))


def test_S0_27_without_processors_their_time_is_absent(site: Site, inferada: Client) -> None:
    answer = inferada.ask(stream=False)
    site.record(answer.call_id)

    assert "processors_ms" not in answer.json["timings"]
    assert inferada.get(f"generation?id={answer.call_id}").json["data"]["processors_ms"] == 0
