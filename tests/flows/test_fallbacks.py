"""Models that serve a call when the one that it asks for cannot."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.site import INPUT_NUSD, KEEP_ALIVE, NUSD_PER_USD, OUTPUT_NUSD, Site

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
PNG = "data:image/png;base64,iVBORw0KGgoAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="
PICTURE = [
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is this?"},
            {"type": "image_url", "image_url": {"url": PNG}},
        ],
    }
]


@pytest.fixture(scope="session")
def models(site: Site) -> None:
    """first-choice, whose two targets the fake upstream serves; second-choice, which costs ten
    times as much and writes at most 50 tokens; third-choice; blind-choice, which sees nothing;
    lost-choice, at whose provider nobody listens; chained, which has a chain of its own.
    """
    do = site.office.do
    do("provider", name="lost", base_url="http://127.0.0.1:1/v1")
    do("provider", name="second", base_url=site.upstream.base_url)
    do("model", name="first-choice", provider="fake", native_model="first")
    do("target", model="first-choice", provider="second")
    prices = {"input_pusd": 10**7, "output_pusd": 2 * 10**7}
    do("model", name="second-choice", provider="second", max_output_tokens=50, **prices)
    do("model", name="third-choice", provider="fake", aliases=["the-third"])
    do("model", name="blind-choice", provider="fake", supports_vision=False)
    do("model", name="strict-choice", provider="fake", unknown_fields="reject")
    do("model", name="narrow-choice", provider="fake", unknown_fields="drop")
    do("model", name="lost-choice", provider="lost")
    do("model", name="off-choice", provider="fake")
    do("offer", model="off-choice", enabled=False)
    chain = ["off-choice", "lost-choice", "second-choice", "third-choice"]
    do("model", name="chained", provider="lost", aliases=["chained-too"], fallbacks=chain)
    do("describe_model", name="third-choice", fallbacks=["chained"])
    site.add_model("round-about", provider="lost", fallbacks=["third-choice", "chained"])


@pytest.fixture
def caller(site: Site, models: None) -> Caller:
    return site.caller(credit_nusd=10 * NUSD_PER_USD).with_(model="first-choice")


def assert_served_by(
    site: Site, answer: Answer, model: str, *, instead_of: str, depth: int
) -> dict[str, Any]:
    """Assert that everything about a call says who served; return its record."""
    assert answer.status == 200, answer.body
    is_stream = answer.headers["content-type"].startswith("text/event-stream")
    bodies = answer.chunks if is_stream else [answer.json]
    assert {body["model"] for body in bodies} == {model}
    assert not any("fallback" in body for body in bodies)
    said = [answer.headers[f"x-{name}"] for name in ("model-used", "fallback-from")]
    assert said == [model, instead_of]
    assert answer.headers["x-fallback-depth"] == str(depth)
    record = site.record(answer.call_id)
    assert (record["status"], record["model"]) == ("ok", model)
    assert (record["fallback_from"], record["fallback_depth"]) == (instead_of, depth)
    return record


def tries(site: Site, answer: Answer) -> list[str]:
    return [str(try_["model"]) for try_ in site.tries(answer.call_id)]


@BOTH
@pytest.mark.parametrize("status", [401, 408, 429, 500, 502, 503, 504, 529])
def test_another_model_serves_when_all_targets_failed(
    site: Site, caller: Caller, status: int, stream: bool
) -> None:
    answer = caller.ask(
        f"script:fail={status}&fail_times=2", models=["second-choice"], stream=stream
    )

    record = assert_served_by(site, answer, "second-choice", instead_of="first-choice", depth=1)
    assert tries(site, answer) == ["first", "second", "second-choice"]
    assert [bool(attempt["code"]) for attempt in record["attempts"]] == [True, True, False]
    shown = [attempt.get("fallback") for attempt in record["attempts"]]
    assert shown == [None, None, "second-choice"]
    assert record["requested_model"] == "first-choice"


@BOTH
def test_the_call_costs_what_the_model_costs_that_served(
    site: Site, caller: Caller, stream: bool
) -> None:
    answer = caller.ask(
        "script:tokens=7", model="lost-choice", models=["second-choice"], stream=stream
    )

    record = assert_served_by(site, answer, "second-choice", instead_of="lost-choice", depth=1)
    prompt = record["prompt_tokens"]
    assert record["output_pusd_per_token"] == 2 * 10**7
    assert record["charge_nusd"] == 10 * (prompt * INPUT_NUSD + 7 * OUTPUT_NUSD)
    assert 0 < record["charge_nusd"] <= record["hold_nusd"]


@BOTH
def test_nothing_is_told_of_a_fallback_that_was_not_needed(
    site: Site, caller: Caller, stream: bool
) -> None:
    answer = caller.ask(models=["second-choice"], stream=stream)

    assert answer.headers["x-model-used"] == "first-choice"
    assert not {"x-fallback-from", "x-fallback-depth"} & answer.headers.keys()
    assert b"fallback" not in answer.body
    record = site.record(answer.call_id)
    assert (record["model"], record["fallback_from"], record["fallback_depth"]) == (
        *("first-choice", ""),
        0,
    )


@BOTH
def test_a_models_own_chain_is_used_where_the_call_has_none(
    site: Site, caller: Caller, stream: bool
) -> None:
    answer = caller.ask(model="chained-too", stream=stream)

    record = assert_served_by(site, answer, "second-choice", instead_of="chained", depth=2)
    assert record["requested_model"] == "chained-too"


def test_the_calls_own_list_takes_the_place_of_the_chain(site: Site, caller: Caller) -> None:
    answer = caller.ask(model="chained", models=["third-choice", "chained", "the-third"])

    record = assert_served_by(site, answer, "third-choice", instead_of="chained", depth=1)
    assert len(record["attempts"]) == 2


def test_an_empty_list_of_the_calls_is_no_fallback(site: Site, caller: Caller) -> None:
    answer = caller.ask(model="chained", models=[])

    assert (answer.status, answer.error["code"]) == (502, "provider_unavailable")
    assert len(site.record(answer.call_id)["attempts"]) == 1


def test_the_chain_of_a_fallback_is_not_followed(site: Site, caller: Caller) -> None:
    answer = caller.ask("script:fail=503", model="round-about")

    assert answer.status == 502
    models = [attempt["model"] for attempt in answer.error["details"]["attempts"]]
    assert models == ["round-about", "third-choice", "chained"]


@pytest.mark.parametrize("models", [None, ["second-choice"]])
def test_a_caller_may_want_the_one_model_alone(
    site: Site, caller: Caller, models: list[str] | None
) -> None:
    headers = {"x-disable-fallback": "True"}

    answer = caller.ask(model="chained", models=models, headers=headers)

    assert (answer.status, answer.error["code"]) == (502, "provider_unavailable")
    assert "x-fallback-from" not in answer.headers
    assert len(site.record(answer.call_id)["attempts"]) == 1


def test_a_fallback_that_the_key_may_not_use_is_passed_over(site: Site, models: None) -> None:
    narrow = site.caller(allowed_models=["chained", "third-choice"]).with_(model="chained")

    answer = narrow.ask()

    assert_served_by(site, answer, "third-choice", instead_of="chained", depth=1)


@pytest.mark.parametrize(
    ("models", "param", "status", "code"),
    [
        (["third-choice", "second-choice"], "models[1]", 403, "model_not_allowed"),
        (["no-such-model"], "models[0]", 404, "model_not_found"),
        (["third-choice", "off-choice"], "models[1]", 404, "model_not_found"),
        (["tensorzero::function_name::f"], "models[0]", 404, "function_not_found"),
        ([""], "models[0]", 400, "invalid_request"),
        (["m" * 257], "models[0]", 400, "invalid_request"),
        ([7], "models[0]", 400, "invalid_request"),
        (["third-choice"] * 6, "models", 400, "invalid_request"),
        ("third-choice", "models", 400, "invalid_request"),
    ],
)
def test_each_model_of_the_list_is_one_that_the_key_may_use(
    site: Site, models: Any, param: str, status: int, code: str, caller: Caller
) -> None:
    narrow = site.caller(allowed_models=["first-choice", "third-choice"])

    answer = narrow.ask(model="first-choice", models=models)

    assert (answer.status, answer.error["code"]) == (status, code)
    assert answer.error["param"] == param
    assert site.tries(answer.call_id) == []


def test_a_profile_that_hides_models_hides_those_of_the_list(site: Site, caller: Caller) -> None:
    narrow = site.caller(allowed_models=["first-choice"])
    headers = {"x-compat-profile": "bud"}

    answer = narrow.ask(model="first-choice", models=["third-choice"], headers=headers)

    assert (answer.status, answer.error["param"]) == (404, "models[0]")


@BOTH
def test_what_the_request_is_at_fault_for_is_not_tried_elsewhere(
    site: Site, caller: Caller, stream: bool
) -> None:
    answer = caller.ask("script:fail=400", models=["second-choice"], stream=stream)

    assert (answer.status, len(site.tries(answer.call_id))) == (400, 1)


@pytest.mark.parametrize("script", ["reset_after=2", "error_after=2", "truncate_after=2"])
def test_no_other_model_is_tried_once_a_byte_is_sent(
    site: Site, caller: Caller, script: str
) -> None:
    answer = caller.stream(f"script:{script}&delay_ms=2", models=["second-choice"])

    assert answer.chunks[-1]["error"]["code"] == "provider_unavailable"
    assert tries(site, answer) == ["first"]


@BOTH
def test_when_every_model_failed_the_last_failure_is_told(
    site: Site, caller: Caller, stream: bool
) -> None:
    answer = caller.ask(
        "script:fail=529", model="lost-choice", models=["second-choice"], stream=stream
    )

    assert (answer.status, answer.error["code"]) == (529, "provider_overloaded")
    assert answer.error["details"]["attempts"] == [
        {"provider": "lost", "model": "lost-choice", "code": "provider_unavailable", "status": 502},
        {
            "provider": "second",
            "model": "second-choice",
            "code": "provider_overloaded",
            "status": 529,
        },
    ]
    record = site.record(answer.call_id)
    assert (record["status"], record["charge_nusd"]) == ("upstream_error", 0)
    assert (record["model"], record["fallback_depth"]) == ("second-choice", 1)


def test_a_model_that_nobody_serves_is_served_by_another(site: Site, caller: Caller) -> None:
    site.office.do("provider", name="asleep", base_url=site.upstream.base_url)
    site.office.do("model", name="asleep-choice", provider="asleep", fallbacks=["third-choice"])
    site.office.do("switch_provider", name="asleep", enabled=False)
    site.add_model("after-asleep-choice")

    answer = caller.ask(model="asleep-choice")

    record = assert_served_by(site, answer, "third-choice", instead_of="asleep-choice", depth=1)
    assert len(record["attempts"]) == 1


@BOTH
def test_a_fallback_that_lacks_an_ability_is_passed_over(
    site: Site, caller: Caller, stream: bool
) -> None:
    answer = caller.ask(
        messages=PICTURE,
        model="lost-choice",
        models=["blind-choice", "third-choice"],
        stream=stream,
    )

    assert answer.headers["x-model-used"] == "third-choice"
    assert answer.headers["x-fallback-depth"] == "1"


def test_the_dropped_parameters_are_those_of_the_model_that_served(
    site: Site, caller: Caller
) -> None:
    answer = caller.ask(
        "script:echo",
        model="lost-choice",
        models=["strict-choice", "narrow-choice"],
        unheard_of=1,
    )

    assert answer.headers["x-model-used"] == "narrow-choice"
    assert answer.headers["x-dropped-params"] == "unheard_of"
    sent = json.loads(answer.echo["body_text"])
    assert sent["model"] == "narrow-choice"
    assert not {"models", "unheard_of"} & sent.keys()
    assert site.record(answer.call_id)["dropped_params"] == ["unheard_of"]


def test_no_fallback_drops_what_the_caller_requires(site: Site, caller: Caller) -> None:
    headers = {"x-require-parameters": "true"}

    answer = caller.ask(
        model="lost-choice", models=["narrow-choice", "third-choice"], unheard_of=1, headers=headers
    )

    assert answer.headers["x-model-used"] == "third-choice"


def test_the_limit_is_lowered_to_that_of_the_model_that_serves(site: Site, caller: Caller) -> None:
    answer = caller.ask("script:echo", model="lost-choice", models=["second-choice"], max_tokens=99)

    assert json.loads(answer.echo["body_text"])["max_tokens"] == 50


def test_the_hold_covers_the_dearest_of_all_that_may_serve(site: Site, caller: Caller) -> None:
    lists = (None, ["third-choice"], ["third-choice", "second-choice", "blind-choice"])

    answers = [caller.ask(max_tokens=40, models=models) for models in lists]

    plain, alike, dear = (site.record(answer.call_id) for answer in answers)
    assert alike["hold_nusd"] == plain["hold_nusd"]
    assert dear["hold_nusd"] == 10 * plain["hold_nusd"]
    assert dear["charge_nusd"] == plain["charge_nusd"]


def test_a_dear_fallback_gets_the_limit_that_the_money_covers(site: Site, models: None) -> None:
    poor = site.caller(credit_nusd=600_000).with_(model="lost-choice")

    answer = poor.ask("script:echo", models=["second-choice"], max_tokens=40)

    sent = json.loads(answer.echo["body_text"])["max_tokens"]
    assert 1 <= sent < 40
    record = assert_served_by(site, answer, "second-choice", instead_of="lost-choice", depth=1)
    assert record["charge_nusd"] <= record["hold_nusd"] <= 600_000


@pytest.mark.parametrize("model", ["first-choice", "free-model"])
def test_a_fallback_that_is_too_dear_takes_nothing_from_the_call(
    site: Site, models: None, model: str
) -> None:
    credit_nusd = 30 * (INPUT_NUSD + OUTPUT_NUSD) if model == "first-choice" else 0
    poor = site.caller(credit_nusd=credit_nusd).with_(model=model)

    answer = poor.ask("script:tokens=3", models=["second-choice"], max_tokens=5)

    assert (answer.status, answer.headers["x-model-used"]) == (200, model)
    failed = poor.ask("script:fail=503", models=["second-choice"], max_tokens=5)
    used = {attempt["model"] for attempt in failed.error["details"]["attempts"]}
    assert used == {model}


def test_a_head_that_is_out_is_put_right_by_the_finish_chunk(site: Site, caller: Caller) -> None:
    answer = site.stream_through_silence(caller, "fail=503&fail_times=2", models=["third-choice"])

    assert KEEP_ALIVE in answer.frames
    assert answer.headers["x-model-used"] == "first-choice"
    assert "x-fallback-from" not in answer.headers
    assert {chunk["model"] for chunk in answer.chunks} == {"third-choice"}
    *earlier, finish, usage = answer.chunks
    assert finish["choices"][0]["finish_reason"] == "stop"
    assert finish["fallback"] == {"from": "first-choice", "depth": 1}
    assert not any("fallback" in chunk for chunk in (*earlier, usage))
    assert site.record(answer.call_id)["fallback_depth"] == 1


@BOTH
def test_the_answer_of_a_fallback_is_kept_under_an_idempotency_key(
    site: Site, caller: Caller, stream: bool
) -> None:
    wish: dict[str, Any] = {
        "headers": {"idempotency-key": f"fallback-{stream}"},
        "models": ["third-choice"],
        "model": "lost-choice",
        "stream": stream,
    }
    first = caller.ask(**wish)

    again = caller.ask(**wish)

    assert (again.body, again.headers["idempotent-replayed"]) == (first.body, "true")
    assert again.headers["x-fallback-from"] == "lost-choice"
    assert len(site.records(caller)) == 1


def test_usage_counts_for_the_model_that_served(site: Site, caller: Caller) -> None:
    served = caller.ask(model="lost-choice", models=["third-choice"])
    site.record(served.call_id)

    report = caller.ask(method="GET", path="/v1/usage?group_by=model", raw=b"").json["data"]

    counted = [(group["model"], group["calls"]) for group in report["groups"]]
    assert counted == [("third-choice", 1)]
