"""The site of these tests: the products' own models, one profile a key."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.site import Site, running_site
from tests.flows.tools.asking import INDEX
from tests.sources.product import Client, client_of

MODELS = (
    *("qwen3.5-35b", "qwen3-4b", "qwen2-7b-vl", "gpt-4o", "anthropic/claude-sonnet-4.5"),
    *("llama-3.1-8b", "hidden-model", "seeing-model", "picture-model", "blind-model"),
)
ENV = {
    "TOLLHOUSE_KEEP_ALIVE_S": "1",
    # Callers tell their address, so that one test's wrong keys are not another's.
    "TOLLHOUSE_TRUSTED_PROXIES": "127.0.0.1/32",
    "TOLLHOUSE_WRONG_KEYS": "20",
    # Where the tests' files are.
    "TOLLHOUSE_FETCH_ALLOWED_NETWORKS": "127.0.0.1/32",
    "TOLLHOUSE_MAX_QUEUE": "2",
}


@pytest.fixture(scope="session")
def site(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One running gateway with the products' models and every look-alike of a provider.

    vllm_model and old-vllm are served by vLLM in its newer and its older dialect; two-ways has
    a first target that nobody listens at, nowhere-model has no other; strict-model and
    narrow-model reject and drop members they do not know.
    """
    folder = tmp_path_factory.mktemp("sources")
    home = Path(shutil.copytree(home_template, folder / "home"))
    index = folder / "index.json"
    index.write_text(json.dumps(INDEX))
    with running_site(home, ENV) as running:
        furnish(running)
        search = ["web_search", "--backend", "static", "--documents", str(index)]
        running.office.do("command", name="set_tool", arguments=search)
        yield running


def furnish(site: Site) -> None:
    do, upstream = site.office.do, site.upstream.base_url
    for name in MODELS:
        said = {"display_name": name.title(), "owned_by": "inferada", "supports_pdf": True}
        do("model", name=name, provider="fake", **said)
    do("describe_model", name="seeing-model", supports_vision=True, supports_pdf=True)
    do("describe_model", name="picture-model", supports_vision=True, supports_pdf=False)
    unable = dict.fromkeys(("supports_vision", "supports_pdf", "supports_audio"), False)
    do("describe_model", name="blind-model", **unable)
    do("provider", name="vllm", kind="vllm", base_url=upstream)
    do("provider", name="old-vllm", kind="vllm", base_url=upstream)
    do("describe_provider", name="old-vllm", structured_dialect="guided")
    do("model", name="vllm_model", provider="vllm")
    do("model", name="old-vllm", provider="old-vllm")
    do("provider", name="nowhere", base_url="http://127.0.0.1:1/v1")
    do("model", name="nowhere-model", provider="nowhere")
    do("model", name="two-ways", provider="nowhere")
    do("target", model="two-ways", provider="fake")
    do("model", name="strict-model", provider="fake", unknown_fields="reject")
    site.add_model("narrow-model", unknown_fields="drop")


@pytest.fixture
def inferada(site: Site) -> Client:
    return client_of(site, "inferada", model="qwen3.5-35b")


@pytest.fixture
def bud(site: Site) -> Client:
    return client_of(site, "bud", model="qwen3-4b")


@pytest.fixture
def infery(site: Site) -> Client:
    return client_of(site, "infery", model="gpt-4o")


@pytest.fixture
def hyperinfer(site: Site) -> Client:
    path = "/api/v1/chat/completions"
    return client_of(site, "hyperinfer", model="anthropic/claude-sonnet-4.5", path=path)


@pytest.fixture
def inferexchange(site: Site) -> Client:
    path = "/api/v1/chat/completions"
    return client_of(site, "inferexchange", model="llama-3.1-8b", path=path)
