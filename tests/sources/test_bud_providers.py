"""Bud's list of providers: those of items S1-51 to S1-62 whose dialects are spoken, and what they
serve that is no model of its own (S1-03).

Each stands at the fake upstream, which shows what the provider is sent.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from tests.fakes.bedrock.signatures import ACCESS_KEY_ID, SECRET_ACCESS_KEY
from tests.flows.site import Site
from tests.sources.product import Client, client_of

CREDENTIAL = "sk-canary-of-one-provider"
VLLM_ONLY = {"min_p": 0.1, "repetition_penalty": 1.1, "ignore_eos": False}
OPEN_MODELS_ONLY = {"top_k": 5, **VLLM_ONLY}


@dataclass(frozen=True)
class Kind:
    """What sets a kind of provider apart from the others of the dialect."""

    name: str
    limit_field: str = "max_tokens"
    drops: frozenset[str] = frozenset()
    is_asked_for_usage: bool = True
    takes_both_limits: bool = False
    takes_developer: bool = False
    renames: tuple[tuple[str, str], ...] = ()


@pytest.fixture
def client(site: Site) -> Client:
    return client_of(site, "bud", credit_nusd=10**7)


def assert_speaks(site: Site, client: Client, kind: Kind) -> None:
    """Assert the whole dialect of a kind: address, credential, limits, drops, usage, answers."""
    site.office.do(
        "provider",
        name=f"kind-{kind.name}",
        kind=kind.name,
        base_url=f"{site.upstream.origin}/{kind.name}/v1/",
        credential=CREDENTIAL,
    )
    model = site.add_model(
        f"model-of-{kind.name}", provider=f"kind-{kind.name}", native_model="native"
    )
    mine = client.with_(model=model)

    assert_request(mine, kind)
    assert_drops(mine, kind)
    assert_stream(mine, kind)


def assert_request(client: Client, kind: Kind) -> None:
    answer = client.ask("script:echo")
    headers = {name.lower(): value for name, value in answer.echo["headers"]}
    sent = json.loads(answer.echo["body_text"])

    assert answer.echo["path"] == f"/{kind.name}/v1/chat/completions"
    assert headers["authorization"] == f"Bearer {CREDENTIAL}"
    assert sent["model"] == "native"
    assert answer.json["model"] == client.model
    # The balance does not cover the model's maximum: the limit is ours, under the kind's name.
    assert kind.limit_field in sent
    for spelling in ("max_tokens", "max_completion_tokens"):
        expected = spelling if kind.takes_both_limits else kind.limit_field
        assert client.sent(**{spelling: 5})[expected] == 5
    developer = {"role": "developer", "content": 'Say "developer".'}
    said = client.sent(messages=[developer, {"role": "user", "content": "script:echo"}])["messages"]
    role = "developer" if kind.takes_developer else "system"
    assert said[0] == {**developer, "role": role}


def assert_drops(client: Client, kind: Kind) -> None:
    members: dict[str, Any] = {**OPEN_MODELS_ONLY, "logit_bias": {"7": 1}, "user": "u", "seed": 1}
    answer = client.ask("script:echo", **members)
    sent = json.loads(answer.echo["body_text"])

    renamed = dict(kind.renames)
    assert {name for name in members if renamed.get(name, name) not in sent} == kind.drops
    named = answer.headers.get("x-dropped-params", "")
    assert {name for name in named.split(",") if name} == kind.drops
    strict = client.ask(headers={"x-require-parameters": "true"}, **members)
    assert strict.status == (400 if kind.drops else 200)


def assert_stream(client: Client, kind: Kind) -> None:
    answer = client.ask("script:echo", stream=True)
    sent = json.loads(answer.echo["body_text"])

    assert sent["stream"] is True
    assert ("stream_options" in sent) is kind.is_asked_for_usage
    if kind.is_asked_for_usage:
        assert sent["stream_options"] == {"include_usage": True}
    assert answer.chunks[-1]["choices"][0]["finish_reason"] == "stop"


def test_S1_51_openai(site: Site, client: Client) -> None:
    openai = Kind(
        "openai", "max_completion_tokens", frozenset(OPEN_MODELS_ONLY), takes_developer=True
    )
    assert_speaks(site, client, openai)


def test_S1_52_anthropic(site: Site, client: Client) -> None:
    site.office.do(
        "provider",
        name="kind-anthropic",
        kind="anthropic",
        base_url=f"{site.upstream.origin}/anthropic/v1/",
        credential=CREDENTIAL,
    )
    model = site.add_model("model-of-anthropic", provider="kind-anthropic", native_model="claude")
    mine = client.with_(model=model)
    brief = {"role": "system", "content": "Be brief."}

    answer = mine.ask("script:echo")
    headers = {name.lower(): value for name, value in answer.echo["headers"]}
    sent = mine.sent(messages=[brief, {"role": "user", "content": "script:echo"}])

    assert answer.echo["path"] == "/anthropic/v1/messages"
    assert (headers["x-api-key"], headers["anthropic-version"]) == (CREDENTIAL, "2023-06-01")
    assert (sent["model"], sent["system"]) == ("claude", "Be brief.")
    assert [turn["role"] for turn in sent["messages"]] == ["user"]
    assert sent["max_tokens"] > 0
    assert mine.ask(stream=True).chunks[-1]["choices"][0]["finish_reason"] == "stop"


def test_S1_53_together(site: Site, client: Client) -> None:
    assert_speaks(site, client, Kind("together", drops=frozenset(VLLM_ONLY)))


def test_S1_54_deepseek(site: Site, client: Client) -> None:
    assert_speaks(site, client, Kind("deepseek", drops=frozenset(OPEN_MODELS_ONLY)))

    thought = client.ask("script:reasoning=2", model="model-of-deepseek")
    assert thought.json["choices"][0]["message"]["reasoning_content"]
    several: dict[str, Any] = {"n": 2, "headers": {"x-compat-profile": "unified"}}
    refused = client.ask(model="model-of-deepseek", **several)
    assert (refused.status, refused.error["param"]) == (400, "n")
    assert refused.error["code"] == "unsupported_parameter"
    assert len(client.ask(model="fake-model", **several).json["choices"]) == 2


def test_S1_55_fireworks(site: Site, client: Client) -> None:
    assert_speaks(site, client, Kind("fireworks", drops=frozenset(VLLM_ONLY)))


def test_S1_56_bedrock(site: Site, client: Client) -> None:
    site.office.do(
        "provider",
        name="kind-bedrock",
        kind="aws_bedrock",
        base_url=f"{site.upstream.origin}/bedrock",
        settings={"region": "eu-central-1"},
        credential=CREDENTIAL,
    )
    native = "amazon.nova-lite-v1:0"
    model = site.add_model("model-of-bedrock", provider="kind-bedrock", native_model=native)
    mine = client.with_(model=model)

    answer = mine.ask("script:echo")
    headers = {name.lower(): value for name, value in answer.echo["headers"]}
    sent = json.loads(answer.echo["body_text"])

    assert answer.echo["path"] == "/bedrock/model/amazon.nova-lite-v1%3A0/converse"
    assert headers["authorization"] == f"Bearer {CREDENTIAL}"
    assert sent["messages"] == [{"role": "user", "content": [{"text": "script:echo"}]}]
    assert sent["inferenceConfig"]["maxTokens"] > 0
    assert mine.ask(stream=True).chunks[-1]["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize("server", ["openai", "tgi"])
def test_S1_57_sagemaker(site: Site, client: Client, server: str) -> None:
    keys = {"access_key_id": ACCESS_KEY_ID, "secret_access_key": SECRET_ACCESS_KEY}
    provider = site.office.do(
        "provider",
        name=f"kind-sagemaker-{server}",
        kind="aws_sagemaker",
        base_url=f"{site.upstream.origin}/sagemaker",
        settings={"region": "eu-central-1", "hosted_provider": server},
        credential=json.dumps(keys, separators=(",", ":")),
    )
    native = f"{server}-endpoint"
    model = site.add_model(f"model-at-{native}", provider=provider, native_model=native)
    mine = client.with_(model=model)

    answer = mine.ask("script:echo")

    assert answer.echo["path"] == f"/sagemaker/endpoints/{native}/invocations"
    assert json.loads(answer.echo["body_text"])["messages"][0]["content"] == "script:echo"


def test_S1_58_vertex_ai(site: Site, client: Client) -> None:
    parent = "/v1/projects/project-7/locations/europe-west1"
    site.office.do(
        "provider",
        name="kind-vertex-gemini",
        kind="gcp_vertex_gemini",
        base_url=f"{site.upstream.origin}/vertex{parent}",
        settings={"project": "project-7", "location": "europe-west1"},
        credential=CREDENTIAL,
    )
    native = "gemini-2.5-pro"
    model = site.add_model("model-of-vertex", provider="kind-vertex-gemini", native_model=native)

    answer = client.with_(model=model).ask("script:echo")

    headers = {name.lower(): value for name, value in answer.echo["headers"]}
    path = f"/vertex{parent}/publishers/google/models/{native}:generateContent"
    assert (answer.echo["path"], headers["authorization"]) == (path, f"Bearer {CREDENTIAL}")
    assert client.ask(model=model, stream=True).text.startswith("tok0 ")


def test_S1_59_google_ai_studio(site: Site, client: Client) -> None:
    site.office.do(
        "provider",
        name="kind-gemini",
        kind="google_ai_studio_gemini",
        base_url=f"{site.upstream.origin}/gemini/v1beta/",
        credential=CREDENTIAL,
    )
    native = "gemini-2.5-flash"
    model = site.add_model("model-of-gemini", provider="kind-gemini", native_model=native)
    mine = client.with_(model=model)
    brief = {"role": "system", "content": "Be brief."}

    answer = mine.ask("script:echo")
    headers = {name.lower(): value for name, value in answer.echo["headers"]}
    sent = mine.sent(messages=[brief, {"role": "user", "content": "script:echo"}], max_tokens=9)

    assert answer.echo["path"] == f"/gemini/v1beta/models/{native}:generateContent"
    assert headers["x-goog-api-key"] == CREDENTIAL
    assert sent == {
        "contents": [{"role": "user", "parts": [{"text": "script:echo"}]}],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "generationConfig": {"maxOutputTokens": 9},
    }
    assert mine.ask(stream=True).chunks[-1]["choices"][0]["finish_reason"] == "stop"


def test_S1_60_mistral(site: Site, client: Client) -> None:
    # It documents the others, with top_k and repetition_penalty.
    drops = frozenset({"ignore_eos", "logit_bias", "min_p", "user"})
    assert_speaks(
        site,
        client,
        Kind("mistral", drops=drops, is_asked_for_usage=False, renames=(("seed", "random_seed"),)),
    )

    # The fake refuses what Mistral does not know.
    answer = client.ask(
        "script:echo", model="model-of-mistral", store=True, logprobs=True, seed=None
    )
    sent = json.loads(answer.echo["body_text"])
    assert {"store", "seed", "random_seed"}.isdisjoint(sent)
    assert answer.headers["x-dropped-params"] == "store"


def test_S1_61_hyperbolic(site: Site, client: Client) -> None:
    assert_speaks(site, client, Kind("hyperbolic", drops=frozenset(OPEN_MODELS_ONLY)))


def test_S1_62_xai(site: Site, client: Client) -> None:
    assert_speaks(
        site, client, Kind("xai", drops=frozenset(OPEN_MODELS_ONLY), takes_developer=True)
    )


def test_S1_03_an_adapter_is_a_model_by_its_own_name_there(site: Site, client: Client) -> None:
    site.add_model("tuned-for-us", provider="vllm", native_model="qwen-with-our-lora")

    answer = client.ask("script:echo", model="tuned-for-us")

    assert json.loads(answer.echo["body_text"])["model"] == "qwen-with-our-lora"
    assert answer.json["model"] == "tuned-for-us"


@pytest.mark.parametrize(
    ("kind", "drops"),
    [
        ("openrouter", frozenset(VLLM_ONLY)),
        ("vllm", frozenset()),
        ("openai_compatible", frozenset()),
    ],
)
def test_the_other_kinds_get_what_they_take(
    site: Site, client: Client, kind: str, drops: frozenset[str]
) -> None:
    assert_speaks(
        site, client, Kind(kind, drops=drops, takes_both_limits=True, takes_developer=True)
    )
