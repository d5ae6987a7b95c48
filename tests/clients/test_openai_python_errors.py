"""openai-python, sync and async, on both mounts: every failure is the class that it should be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import openai
import pytest

from tests.clients.conftest import Keys
from tests.clients.sdk import ask, each, generation_soon, opened, outcome, user
from tests.support.servers import UpstreamServer

SIMULATED = "tollhouse/simulated"


@dataclass(frozen=True)
class Failure:
    """What is asked, and what must come of it. key: the name of one of `Keys`."""

    raises: type[openai.APIStatusError]
    status: int
    code: str
    content: str = "Hello"
    key: str = ""
    param: str | None = None
    members: dict[str, Any] = field(default_factory=dict)


FAILURES = {
    "400 out of range": Failure(
        openai.BadRequestError,
        400,
        "invalid_request",
        param="temperature",
        members={"temperature": 3},
    ),
    "400 deep inside": Failure(
        openai.BadRequestError,
        400,
        "invalid_request",
        param="messages[1].content[0].text",
        members={
            "messages": [
                *user("Hello"),
                {"role": "user", "content": [{"type": "text", "text": 7}]},
            ]
        },
    ),
    "400 steering": Failure(
        openai.BadRequestError,
        400,
        "invalid_request",
        param="api_base",
        members={"extra_body": {"api_base": "http://127.0.0.1:1"}},
    ),
    "404 model": Failure(
        openai.NotFoundError, 404, "model_not_found", param="model", members={"model": "no/such"}
    ),
    "401 key": Failure(openai.AuthenticationError, 401, "invalid_api_key", key="sk-gw-wrong"),
    "402 balance": Failure(openai.APIStatusError, 402, "insufficient_credits", key="poor"),
    "403 model": Failure(
        openai.PermissionDeniedError, 403, "model_not_allowed", key="other_model", param="model"
    ),
    "403 address": Failure(
        openai.PermissionDeniedError, 403, "ip_not_allowed", key="other_address"
    ),
    "403 scope": Failure(
        openai.PermissionDeniedError, 403, "insufficient_scope", key="other_scope"
    ),
    "403 locked": Failure(openai.PermissionDeniedError, 403, "workspace_locked", key="locked"),
    "upstream 400": Failure(
        openai.BadRequestError, 400, "invalid_request", "script:fail=400&message=Odd+wish"
    ),
    "upstream 400 context": Failure(
        openai.BadRequestError,
        400,
        "context_length_exceeded",
        "script:fail=400&code=context_length_exceeded",
    ),
    "upstream 401": Failure(openai.InternalServerError, 502, "provider_auth", "script:fail=401"),
    "upstream 429": Failure(openai.RateLimitError, 429, "provider_rate_limit", "script:fail=429"),
    "upstream 500": Failure(
        openai.InternalServerError, 502, "provider_unavailable", "script:fail=500"
    ),
    "upstream 500 page": Failure(
        openai.InternalServerError, 502, "provider_unavailable", "script:fail=500&body=html"
    ),
    "upstream 504": Failure(openai.InternalServerError, 504, "provider_timeout", "script:fail=504"),
    "upstream 529": Failure(
        openai.InternalServerError, 529, "provider_overloaded", "script:fail=529"
    ),
    "upstream reset": Failure(
        openai.InternalServerError, 502, "provider_unavailable", "script:drop=reset"
    ),
    "simulated 503": Failure(
        openai.InternalServerError,
        502,
        "provider_unavailable",
        "script:fail=503",
        members={"model": SIMULATED},
    ),
}


@pytest.mark.parametrize("streamed", [False, True], ids=["buffered", "streamed"])
@pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
async def test_a_failure_before_the_first_byte_is_its_own_class(
    client: Any, keys: Keys, failure: Failure, streamed: bool
) -> None:
    key = getattr(keys, failure.key, failure.key) or client.api_key
    members = {"model": "fake-model", "messages": user(failure.content)} | failure.members

    with pytest.raises(openai.APIStatusError) as caught:
        await outcome(
            client.with_options(api_key=key).chat.completions.create(stream=streamed, **members)
        )

    error = caught.value
    assert type(error) is failure.raises
    assert (error.status_code, error.code) == (failure.status, failure.code)
    assert error.param == failure.param
    assert isinstance(error.body, dict)
    assert error.body["message"]
    assert error.body["request_id"] == error.request_id
    assert error.response.headers["content-type"] == "application/json"


async def test_a_body_beyond_the_limit_is_413_and_not_a_broken_connection(client: Any) -> None:
    too_much = "x" * (51 * 1024 * 1024)

    with pytest.raises(openai.APIStatusError) as caught:
        await ask(client, too_much)

    assert (caught.value.status_code, caught.value.code) == (413, "payload_too_large")
    assert (await ask(client, "Hello")).choices


async def test_an_unknown_model_cannot_be_retrieved(client: Any) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        await outcome(client.models.retrieve("no/such model"))

    assert caught.value.code == "model_not_found"


async def test_an_endpoint_that_does_not_exist_is_404(client: Any) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        await outcome(client.fine_tuning.jobs.create(model="m", training_file="f"))

    assert caught.value.code == "not_found"


BREAKS = {
    "said so": ("fake-model", "script:tokens=9&error_after=3"),
    "reset": ("fake-model", "script:tokens=9&reset_after=3"),
    "closed": ("fake-model", "script:tokens=9&close_after=3"),
    "ended early": ("fake-model", "script:tokens=9&truncate_after=3"),
    "without a finish": ("fake-model", "script:tokens=3&truncate"),
    "simulated error": (SIMULATED, "script:tokens=9&fail_after=3"),
    "simulated break": (SIMULATED, "script:tokens=9&break_after=3"),
}


@pytest.mark.parametrize(("model", "script"), BREAKS.values(), ids=BREAKS)
async def test_a_failure_inside_the_stream_is_raised_after_what_had_arrived(
    client: Any, model: str, script: str
) -> None:
    said: list[str] = []

    async def read() -> None:
        async for chunk in each(await ask(client, script, model=model, stream=True)):
            said.append(chunk.choices[0].delta.content or "")

    with pytest.raises(openai.APIError) as caught:
        await read()

    word = "word" if model == SIMULATED else "tok"
    assert "".join(said) == f"{word}0 {word}1 {word}2 "
    assert not isinstance(caught.value, openai.APIStatusError | openai.APIConnectionError)
    assert caught.value.code == "provider_unavailable"
    assert caught.value.message


async def test_the_stream_helper_raises_what_broke_the_stream(client: Any) -> None:
    helper = client.chat.completions.stream(
        model="fake-model", messages=user("script:tokens=9&reset_after=3")
    )

    async def read() -> None:
        async with opened(helper) as events:
            async for _ in each(events):
                pass

    with pytest.raises(openai.APIError) as caught:
        await read()

    assert caught.value.code == "provider_unavailable"


async def test_what_cannot_get_better_is_not_tried_again(
    client: Any, upstream: UpstreamServer
) -> None:
    before = len(upstream.book())

    with pytest.raises(openai.InternalServerError):
        await ask(client.with_options(max_retries=2), "script:fail=401")

    assert len(upstream.book()) == before + 1


async def test_a_failed_call_costs_nothing(client: Any) -> None:
    with pytest.raises(openai.InternalServerError) as caught:
        await ask(client, "script:fail=500")

    record = await generation_soon(client, caught.value.request_id or "")
    assert record["status"] == "error"
    assert record["error_code"] == "provider_unavailable"
    assert record["cost_nano_usd"] == "0"
