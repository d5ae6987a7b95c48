"""What callers get: the completions of any prompt, by text models and by models for chat."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai import OpenAI

from tests.flows.caller import Caller
from tests.flows.completions.asking import complete, reasons, texts, upstream_text
from tests.flows.completions.conftest import CHAT, CLAUDE, TEXT
from tests.flows.site import NUSD_PER_USD, Site

PROMPTS: dict[str, tuple[Any, int, int]] = {
    # The prompt, its tokens, its completions.
    "text": ("three words here", 3, 1),
    "texts": (["one", "now two", "and then three"], 6, 3),
    "tokens": ([5, 6, 7, 8], 4, 1),
    "lists of tokens": ([[5], [6, 7]], 3, 2),
}


@pytest.mark.parametrize("mount", ["/v1", "/api/v1", "/openai/v1", "/compat/bud/v1"])
def test_every_mount_has_the_endpoint(caller: Caller, mount: str) -> None:
    answer = complete(caller, "three words here", path=f"{mount}/completions", max_tokens=4)

    assert texts(answer) == [upstream_text(4)]
    said = answer.json
    assert (said["object"], said["model"]) == ("text_completion", TEXT)
    assert said["choices"][0]["finish_reason"] == "length"
    assert said["id"] == ("cmpl-" if "bud" not in mount else "") + answer.call_id


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("case", PROMPTS)
@pytest.mark.parametrize("each", [1, 2])
def test_each_prompt_has_its_completions(
    site: Site, caller: Caller, case: str, each: int, stream: bool
) -> None:
    prompt, tokens, prompts = PROMPTS[case]

    answer = complete(caller, prompt, n=each, stream=stream, max_tokens=5)

    assert texts(answer) == [upstream_text(5)] * prompts * each
    assert reasons(answer) == ["length"] * prompts * each
    record = site.record(answer.call_id)
    assert (record["prompt_tokens"], record["completion_tokens"]) == (tokens, 5 * prompts * each)
    assert answer.frames[-1] == "data: [DONE]" if stream else True


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("model", [CHAT, CLAUDE, "fake-model"])
def test_models_for_chat_answer_too(caller: Caller, model: str, stream: bool) -> None:
    members: dict[str, Any] = {"stop": ["never"], "temperature": 0.5, "top_p": 0.9}

    answer = complete(
        caller.with_(model=model), "script:tokens=5", stream=stream, max_tokens=50, **members
    )

    assert texts(answer) == [upstream_text(5)]
    assert reasons(answer) == ["stop"]


def test_a_model_for_chat_gets_one_message_of_the_users(caller: Caller) -> None:
    answer = complete(caller.with_(model=CHAT), ["script:echo"], max_tokens=7, echo=False, top_k=3)

    seen = json.loads(texts(answer)[0])
    assert seen["path"] == "/v1/chat/completions"
    body = json.loads(seen["body_text"])
    assert body["messages"] == [{"role": "user", "content": "script:echo"}]
    assert (body["max_tokens"], body["top_k"]) == (7, 3)
    assert body.keys() == {"model", "messages", "max_tokens", "top_k"}


def test_members_of_a_chat_cannot_be_smuggled_in(caller: Caller) -> None:
    more: dict[str, Any] = {
        "messages": [],
        "tools": 7,
        "response_format": "x",
        "reasoning_effort": [],
    }

    answer = complete(caller.with_(model=CLAUDE), "script:tokens=2", max_tokens=9, **more)

    assert texts(answer) == [upstream_text(2)]
    assert answer.headers["x-dropped-params"] == "messages,reasoning_effort,response_format,tools"


def test_a_model_with_a_system_prompt_gets_it_whoever_asks(site: Site, caller: Caller) -> None:
    prompted = {"default_system_prompt": "Be brief."}
    for operation in ("", "completions", "chat"):
        name = f"prompted-{operation or 'any'}"
        model = site.add_model(name, operation=operation, **prompted)

        answer = complete(caller.with_(model=model), "script:echo", max_tokens=9)

        body = json.loads(json.loads(texts(answer)[0])["body_text"])
        roles = [message["role"] for message in body["messages"]]
        assert (roles, body["messages"][0]["content"]) == (["system", "user"], "Be brief.")


KINDS: dict[str, tuple[str, str, dict[str, Any]]] = {
    # Their address at the fake upstream, which refuses what they refuse, the operation of the
    # model, and what is asked.
    "openai": ("openai/v1", "completions", {"suffix": "end", "best_of": 3, "logprobs": 2}),
    "deepseek": ("deepseek/v1", "completions", {"suffix": "end", "echo": True}),
    "mistral": ("mistral/v1", "completions", {"suffix": "end", "seed": 7}),
    "vllm": ("vllm/v1", "", {"min_p": 0.5, "echo": True}),
    "together": ("together/v1", "", {"logprobs": 1}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_provider_is_asked_in_its_own_words(site: Site, kind: str) -> None:
    path, operation, members = KINDS[kind]
    name = f"completer-{kind}"
    address = f"{site.upstream.origin}/{path}"
    site.office.do("provider", name=name, kind=kind, base_url=address, credential="sk-x")
    caller = site.caller().with_(model=site.add_model(name, provider=name, operation=operation))

    answer = complete(caller, "a b", max_tokens=3, **members)
    streamed = complete(caller, "a b", max_tokens=3, stream=True, suffix="end")

    assert texts(answer) == [("a b" if members.get("echo") else "") + upstream_text(3)]
    assert texts(streamed) == [upstream_text(3)]
    assert "x-dropped-params" not in answer.headers
    if "logprobs" in members:
        assert answer.json["choices"][0]["logprobs"]["tokens"] == ["tok0 ", "tok1 ", "tok2 "]
    generated = 3 * members.get("best_of", 1)
    assert site.record(answer.call_id)["completion_tokens"] == generated


def test_openais_models_are_asked_to_chat_unless_they_are_for_texts(site: Site) -> None:
    address = f"{site.upstream.origin}/openai/v1"
    site.office.do("provider", name="texts-o", kind="openai", base_url=address, credential="sk-x")
    model = site.add_model("texts-4o", provider="texts-o", native_model="gpt-4o")

    answer = complete(site.caller().with_(model=model), "script:tokens=2", max_tokens=9)

    assert texts(answer) == [upstream_text(2)]


def test_reasoning_stands_beside_the_text(caller: Caller) -> None:
    whole = complete(caller.with_(model=CHAT), "script:tokens=2&reasoning=2", max_tokens=9)
    stream = complete(
        caller.with_(model=CHAT), "script:tokens=2&reasoning=2", max_tokens=9, stream=True
    )

    said = "".join(one["choices"][0].get("reasoning", "") for one in stream.chunks[:-1])
    assert whole.json["choices"][0]["reasoning"] == said == "think0 think1 "
    assert texts(whole) == texts(stream) == [upstream_text(2)]


@pytest.mark.parametrize("stream", [False, True])
def test_the_sdk_reads_what_is_answered(site: Site, caller: Caller, stream: bool) -> None:
    client = OpenAI(base_url=f"{site.gateway.origin}/v1", api_key=caller.secret, max_retries=0)
    with client:
        if stream:
            chunks = list(
                client.completions.create(
                    model=TEXT,
                    prompt="Once upon",
                    max_tokens=3,
                    stream=True,
                    stream_options={"include_usage": True},
                )
            )
            usage = chunks[-1].usage
            said = "".join(one.choices[0].text for one in chunks if one.choices)
        else:
            answer = client.completions.create(model=TEXT, prompt="Once upon", max_tokens=3)
            usage, said = answer.usage, answer.choices[0].text

    assert said == upstream_text(3)
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (2, 3, 5)


def test_a_repeated_key_gets_the_same_text_for_nothing(site: Site, caller: Caller) -> None:
    headers = {"idempotency-key": "once"}

    first = complete(caller, "hello there", headers=headers, max_tokens=3)
    again = complete(caller, "hello there", headers=headers, max_tokens=3)

    assert (first.status, again.body) == (200, first.body)
    charge_nusd = site.record(first.call_id)["charge_nusd"]
    assert site.balance_nusd(caller) == NUSD_PER_USD - charge_nusd


@pytest.mark.parametrize("stream", [False, True])
def test_a_fallback_model_serves_when_the_provider_fails(
    site: Site, caller: Caller, stream: bool
) -> None:
    prompt = "script:fail=503&fail_times=1&tokens=2"

    answer = complete(caller, prompt, models=[CLAUDE, CHAT], max_tokens=9, stream=stream)

    assert texts(answer) == [upstream_text(2)]
    assert answer.headers["x-model-used"] == CLAUDE
    assert site.record(answer.call_id)["model"] == CLAUDE


def test_an_explained_call_says_what_it_would_become(site: Site, caller: Caller) -> None:
    body = {"model": CHAT, "prompt": "hello", "suffix": "x"}
    question = {"endpoint": "completions", "body": body}

    asked = caller.ask(path="/v1/admission/explain", raw=json.dumps(question).encode())

    assert asked.status == 200, asked.body
    assert asked.json["data"]["error"]["param"] == "suffix", asked.body


@pytest.mark.parametrize("stream", [False, True])
def test_the_simulated_model_completes_texts(caller: Caller, stream: bool) -> None:
    simulated = caller.with_(model="tollhouse/simulated")

    many = complete(simulated, ["script:text=a+b+c", "x"], max_tokens=2, stream=stream)
    alone = complete(simulated, [1, 2], echo=True, max_tokens=0)

    assert texts(many) == ["a b "] * 2
    assert reasons(many) == ["length"] * 2
    assert texts(alone) == ["1 2"]
