"""Providers that refuse, fail, vanish or answer nonsense: what the caller is told, and pays."""

from __future__ import annotations

import urllib.parse
from dataclasses import dataclass
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.site import CREDENTIAL, OUTPUT_NUSD, Site
from tests.support.ports import free_port
from tests.support.waiting import wait_until


@dataclass(frozen=True)
class Case:
    """What an upstream does, and what the caller has to be told."""

    script: str
    status: int
    code: str
    retry_after: str | None = None
    should_retry: str | None = None


OVERLOADED = "message=The+engine+is+Overloaded"
TOO_LONG = "message=This+model's+maximum+context+length+is+8192+tokens"
CASES = [
    *(Case(f"fail={status}", 400, "invalid_request") for status in (400, 404, 413, 422)),
    Case(f"fail=400&{TOO_LONG}", 400, "context_length_exceeded"),
    Case("fail=400&code=context_length_exceeded", 400, "context_length_exceeded"),
    Case("fail=400&code=content_filter", 400, "content_filter"),
    Case("fail=400&message=Rejected+by+our+content+policy", 400, "content_filter"),
    Case("fail=401", 502, "provider_auth", should_retry="false"),
    Case("fail=403", 502, "provider_auth", should_retry="false"),
    Case("fail=408", 504, "provider_timeout", should_retry="false"),
    Case("fail=504", 504, "provider_timeout", should_retry="false"),
    Case("fail=429&retry_after=7", 429, "provider_rate_limit", "7"),
    Case("fail=429", 429, "provider_rate_limit", "1"),
    Case("fail=429&retry_after=120", 429, "provider_rate_limit", "120"),
    Case("fail=429&retry_after=121", 429, "provider_rate_limit", "121", should_retry="false"),
    Case("fail=429&retry_after=soon", 429, "provider_rate_limit", "1"),
    Case("fail=429&retry_after=0.2", 429, "provider_rate_limit", "1"),
    Case("fail=529&retry_after=3", 529, "provider_overloaded", "3"),
    Case(f"fail=503&{OVERLOADED}", 529, "provider_overloaded", "1"),
    *(Case(f"fail={n}", 502, "provider_unavailable") for n in (500, 501, 502, 503, 520, 599)),
    *(Case(f"fail={n}", 502, "provider_unavailable") for n in (402, 409, 418, 451)),
    Case("fail=302&header=location:http://127.0.0.1:1/", 502, "provider_unavailable"),
    Case("drop=reset", 502, "provider_unavailable"),
    Case("drop=close", 502, "provider_unavailable"),
]
BUFFERED_CASES = [
    Case(script, 502, "provider_unavailable")
    for script in (
        *("truncate", "close_after=1", "reset_after=1", "truncate_at_byte=0", "gzip"),
        *("reset_at_byte=50", "header=content-encoding:br", "big_bytes=70000000"),
        *("fail=204", "fail=206"),
    )
]


def assert_told(site: Site, caller: Caller, answer: Answer, case: Case) -> None:
    """Assert that the caller is told what it should be, once, and pays nothing."""
    assert (answer.status, answer.error["code"]) == (case.status, case.code), answer.body
    assert answer.headers["content-type"] == "application/json"
    assert answer.error["request_id"] == answer.call_id
    assert answer.error["message"]
    assert answer.headers.get("retry-after") == case.retry_after
    assert answer.headers.get("x-should-retry") == case.should_retry
    record = site.record(answer.call_id)
    assert (record["status"], record["charge_basis"]) == ("upstream_error", "zero_upstream")
    assert (record["error_code"], record["http_status"]) == (case.code, case.status)
    assert record["charge_nusd"] == 0
    assert len(site.tries(answer.call_id)) == 1


@pytest.fixture(scope="module")
def caller(site: Site) -> Caller:
    return site.caller()


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.script)
def test_each_refusal_of_a_provider_has_its_meaning(
    site: Site, caller: Caller, case: Case, stream: bool
) -> None:
    answer = caller.ask(f"script:{case.script}", stream=stream)

    assert_told(site, caller, answer, case)


@pytest.mark.parametrize("case", BUFFERED_CASES, ids=lambda case: case.script)
def test_a_broken_answer_is_the_providers_failure(site: Site, caller: Caller, case: Case) -> None:
    answer = caller.ask(f"script:{case.script}")

    assert_told(site, caller, answer, case)


@pytest.mark.parametrize("body", ["html", "text", "empty", "null", "array", "bare", "broken"])
@pytest.mark.parametrize("status", [400, 401, 429, 500, 503])
def test_whatever_a_provider_sends_the_caller_gets_our_json(
    caller: Caller, status: int, body: str
) -> None:
    answer = caller.ask(f"script:fail={status}&body={body}&message=<script>alert(1)</script>")

    assert answer.status == {400: 400, 401: 502, 429: 429, 500: 502, 503: 502}[status]
    assert answer.headers["content-type"] == "application/json"
    members = {"message", "type", "code", "param", "request_id"}
    assert members <= set(answer.error) <= members | {"details"}
    assert "<html" not in answer.error["message"]


SECRETS = (CREDENTIAL, "xai-Canary7Canary7", "0123abcd" * 8)
SAYINGS = (
    "Incorrect API key provided: {secret}. See https://api.provider.example/keys?k={secret}",
    "No route to {host}",
    "upstream http://{host}/v1/chat/completions said no to Bearer {secret}",
)


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
@pytest.mark.parametrize("status", [400, 401, 422, 429, 500])
def test_nothing_of_the_providers_is_told_to_callers(
    site: Site, caller: Caller, status: int, stream: bool
) -> None:
    host = f"127.0.0.1:{site.upstream.port}"
    for number, secret in enumerate(SECRETS):
        name = f"secret-{number}"
        if name not in site.gateway.offered():
            site.office.do(
                "provider", name=name, base_url=site.upstream.base_url, credential=secret
            )
            site.add_model(name, provider=name)
        for saying in SAYINGS:
            message = urllib.parse.quote(saying.format(secret=secret, host=host))

            answer = caller.with_(model=name).ask(
                f"script:fail={status}&message={message}", stream=stream
            )

            told = answer.body.decode() + str(answer.headers)
            assert secret not in told
            assert host not in told
            assert "provider.example" not in told


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_no_piece_of_a_credential_is_told_where_a_message_is_cut(
    site: Site, caller: Caller, stream: bool
) -> None:
    for before in range(440, 500, 7):
        message = "x" * before + f"+{CREDENTIAL[3:]}" + " and more" * 100
        script = f"fail=400&message={urllib.parse.quote(message)}"
        told = caller.ask(f"script:{script}", stream=stream).error["message"]

        assert told.count("x") >= before
        assert not any(CREDENTIAL[3:][:size] in told for size in range(4, 20))


def test_a_provider_that_is_not_there_is_unavailable(site: Site, caller: Caller) -> None:
    for name, url in (
        ("refused", f"http://127.0.0.1:{free_port()}/v1"),
        ("no-such-host", "http://provider.invalid/v1"),
        ("no-tls", site.upstream.base_url.replace("http:", "https:")),
    ):
        site.office.do("provider", name=name, base_url=url)
        site.add_model(name, provider=name)

        answer = caller.with_(model=name).ask()

        assert (answer.status, answer.error["code"]) == (502, "provider_unavailable"), name
        assert "127.0.0.1" not in answer.error["message"]
        assert site.record(answer.call_id)["charge_nusd"] == 0


@pytest.fixture(scope="session")
def spare_model(site: Site) -> str:
    """A model that two targets serve; both are the fake upstream, which counts the tries."""
    site.office.do("model", name="spare-model", provider="fake", native_model="first")
    site.office.do("target", model="spare-model", provider="fake")
    return site.add_model("after-spare-model")


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
@pytest.mark.parametrize("status", [401, 403, 408, 429, 500, 502, 503, 504, 529])
def test_the_next_target_is_tried_before_the_first_byte(
    site: Site, caller: Caller, spare_model: str, status: int, stream: bool
) -> None:
    answer = caller.with_(model="spare-model").ask(
        f"script:fail={status}&fail_times=1", stream=stream
    )

    assert answer.status == 200
    assert answer.text.startswith("tok0 ")
    assert [try_["model"] for try_ in site.tries(answer.call_id)] == ["first", "second"]
    record = site.record(answer.call_id)
    assert (record["status"], record["native_model"]) == ("ok", "second")
    assert [bool(attempt["code"]) for attempt in record["attempts"]] == [True, False]
    assert [attempt["status"] for attempt in record["attempts"]] == [status, 200]
    assert record["charge_nusd"] >= 10 * OUTPUT_NUSD
    assert record["failed_us"] > 0


@pytest.mark.parametrize("status", [400, 404, 422])
def test_what_the_request_is_at_fault_for_is_not_tried_again(
    site: Site, caller: Caller, spare_model: str, status: int
) -> None:
    answer = caller.with_(model="spare-model").ask(f"script:fail={status}&fail_times=1")

    assert answer.status == 400
    assert len(site.tries(answer.call_id)) == 1


def test_when_every_target_fails_the_last_failure_is_told(
    site: Site, caller: Caller, spare_model: str
) -> None:
    answer = caller.with_(model="spare-model").ask("script:fail=429&retry_after=9")

    assert (answer.status, answer.headers["retry-after"]) == (429, "9")
    assert len(site.tries(answer.call_id)) == 2
    assert len(site.record(answer.call_id)["attempts"]) == 2


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_when_every_target_fails_each_attempt_is_told(
    site: Site, caller: Caller, spare_model: str, stream: bool
) -> None:
    answer = caller.with_(model="spare-model").ask("script:fail=529", stream=stream)

    attempt = {"provider": "fake", "model": "spare-model", "code": "provider_overloaded"}
    assert answer.status == 529
    assert answer.error["details"] == {"attempts": [{**attempt, "status": 529}] * 2}


def test_no_attempt_is_told_of_a_call_that_no_other_target_could_serve(
    caller: Caller, spare_model: str
) -> None:
    answer = caller.with_(model="spare-model").ask("script:fail=400")

    assert (answer.status, "details" in answer.error) == (400, False)


@pytest.fixture(scope="session")
def stranded_model(site: Site) -> str:
    """A model whose only provider is switched off."""
    site.office.do("provider", name="resting", base_url=site.upstream.base_url)
    site.add_model("stranded-model", provider="resting")
    site.office.do("switch_provider", name="resting", enabled=False)
    wait_until(lambda: "stranded-model" not in site.gateway.offered(), what="the provider's rest")
    return "stranded-model"


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_a_model_that_nobody_serves_is_unavailable_and_not_unknown(
    site: Site, caller: Caller, stranded_model: str, stream: bool
) -> None:
    answer = caller.with_(model=stranded_model).ask(stream=stream)

    assert (answer.status, answer.error["code"]) == (503, "no_upstream_available")
    assert answer.headers["retry-after"] == "5"
    assert site.tries(answer.call_id) == []
    record = site.record(answer.call_id)
    assert (record["status"], record["charge_basis"]) == ("platform_aborted", "zero_platform")
    assert (record["charge_nusd"], record["attempts"]) == (0, [])


@pytest.mark.parametrize(
    ("profile", "status", "code"),
    [
        ("inferada", 503, "no_upstream_available"),
        ("bud", 503, 503),
        ("infery", 503, "no_upstream_available"),
        ("hyperinfer", 502, "provider_unavailable"),
        ("inferexchange", 503, "SERVICE_UNAVAILABLE"),
    ],
)
def test_each_profile_has_its_word_for_a_model_that_nobody_serves(
    caller: Caller, stranded_model: str, profile: str, status: int, code: object
) -> None:
    stranded = caller.with_(model=stranded_model)

    answer = stranded.ask(path=f"/compat/{profile}/v1/chat/completions")

    assert (answer.status, answer.error["code"]) == (status, code)


def test_a_model_that_nobody_serves_is_hidden_from_keys_as_any_other(
    site: Site, stranded_model: str
) -> None:
    narrow = site.caller(allowed_models=["fake-model"]).with_(model=stranded_model)

    answer = narrow.ask()

    assert (answer.status, answer.error["code"]) == (403, "model_not_allowed")


@pytest.mark.parametrize("script", ["reset_after=2", "error_after=2", "truncate_after=2"])
def test_nothing_is_tried_again_once_a_byte_is_sent(
    site: Site, caller: Caller, spare_model: str, script: str
) -> None:
    answer = caller.with_(model="spare-model").stream(f"script:{script}&delay_ms=2")

    assert answer.chunks[-1]["error"]["code"] == "provider_unavailable"
    assert len(site.tries(answer.call_id)) == 1


def test_a_stream_that_breaks_before_its_first_token_is_tried_again(
    site: Site, caller: Caller, spare_model: str
) -> None:
    answer = caller.with_(model="spare-model").stream("script:truncate_after=0")

    assert answer.status == 502
    assert len(site.tries(answer.call_id)) == 2


# As these providers say it.
NO_IMAGES = {
    "OpenAI": (400, "Invalid content type. image_url is only supported by certain models."),
    "vLLM": (400, "At most 0 image(s) may be provided in one prompt."),
    "an older vLLM": (400, "Qwen/Qwen2.5-7B-Instruct is not a multimodal model"),
    "llama.cpp": (500, "image input is not supported - hint: you may need to provide the mmproj"),
    "OpenRouter": (404, "No endpoints found that support image input"),
    "Mistral": (400, "Image input is not enabled for this model"),
    "Gemini": (400, "Image input modality is not enabled for models/gemma-3-1b-it"),
    "Ollama": (500, "this model is missing data required for image input"),
    "xAI": (400, "Image inputs are not supported by this model."),
    "Fireworks": (400, "This model does not support images."),
}
NO_OTHERS = {
    "sound at OpenAI": (400, "input_audio is only supported by certain models.", "audio"),
    "sound at llama.cpp": (500, "audio input is not supported - hint: a hint", "audio"),
    "a file": (400, "This model does not support file content.", "pdf"),
}
OF_ONE_IMAGE = (
    "You uploaded an unsupported image. Please make sure your image is valid.",
    "The image format is not supported.",
    "Images larger than 20 MB are not supported.",
    "image_url must be an https address.",
)
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}


def refused(caller: Caller, status: int, message: str, **options: Any) -> Answer:
    script = f"script:fail={status}&message={urllib.parse.quote_plus(message)}"
    content = [IMAGE, {"type": "text", "text": script}]
    return caller.ask(messages=[{"role": "user", "content": content}], **options)


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
@pytest.mark.parametrize(("status", "message"), NO_IMAGES.values(), ids=NO_IMAGES)
def test_a_provider_that_takes_no_images_is_no_failure(
    caller: Caller, status: int, message: str, stream: bool
) -> None:
    answer = refused(caller, status, message, stream=stream)

    error = answer.error
    assert (answer.status, error["code"]) == (400, "image_not_supported_by_model")
    assert (error["type"], error["param"]) == ("invalid_request_error", "messages")


@pytest.mark.parametrize(("status", "message", "ability"), NO_OTHERS.values(), ids=NO_OTHERS)
def test_nor_is_one_that_takes_no_sound_or_files(
    caller: Caller, status: int, message: str, ability: str
) -> None:
    answer = refused(caller, status, message)

    assert (answer.status, answer.error["code"]) == (400, f"{ability}_not_supported_by_model")


@pytest.mark.parametrize("message", OF_ONE_IMAGE)
def test_what_a_provider_says_of_one_image_is_passed_on(caller: Caller, message: str) -> None:
    answer = refused(caller, 400, message)

    assert (answer.status, answer.error["code"]) == (400, "invalid_request")


def test_an_image_goes_to_a_provider_that_takes_some(site: Site, caller: Caller) -> None:
    """The first target is strict as DeepSeek is."""
    blind = site.upstream.base_url.replace("/v1", "/deepseek/v1")
    fields = {"kind": "deepseek", "credential": CREDENTIAL}
    site.office.do("provider", name="blind", base_url=blind, **fields)
    site.add_model("half-blind", provider="blind")
    messages = [{"role": "user", "content": [IMAGE]}]
    alone = caller.ask(model="half-blind", messages=messages)
    site.office.do("target", model="half-blind", provider="fake")

    wait_until(lambda: caller.ask(model="half-blind", messages=messages).status == 200)
    assert (alone.status, alone.error["code"]) == (400, "image_not_supported_by_model")
