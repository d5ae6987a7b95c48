"""LlamaIndex at its default: it asks for its models of chat at /v1/chat/completions, and for every
other at /v1/completions, where a model that chats alone answers, too."""

from __future__ import annotations

import json

import pytest

from tests.clients import environments
from tests.clients.battery import Report, run_program
from tests.support.servers import ROOT, GatewayServer

TEXT = "tok0 tok1 tok2 tok3 tok4 "
# The names under which the library knows models, with the operation that each has here and the
# object that answers.
MODELS = {
    "gpt-3.5-turbo": ("chat", "chat.completion"),
    "gpt-3.5-turbo-instruct": ("chat", "text_completion"),
    "text-davinci-003": ("completions", "text_completion"),
}


@pytest.fixture(scope="module")
def report(shared_gateway: GatewayServer) -> Report:
    """What each case came to, with every model."""
    for name, (operation, _) in MODELS.items():
        shared_gateway.manage(
            *("add_model", name, "--provider", "fake", "--native", "fake"),
            *("--operation", operation, "--input", "1", "--output", "2", "--max-output", "1000"),
        )
    folder = environments.install("newest")
    program = ("-m", "tests.clients.python.llama_index_llm")
    command, env = environments.command_in(folder, *program)
    told = {"BASE_URL": shared_gateway.base_url, "KEY": shared_gateway.key, "HOME": "/nonexistent"}
    return run_program(command, ROOT, env | told | {"MODELS": json.dumps([*MODELS])})


@pytest.mark.parametrize("model", MODELS)
def test_every_way_to_ask_is_answered(report: Report, model: str) -> None:
    _, kind = MODELS[model]
    seen = {case: report[f"{model}: {case}"] for case in ("complete", "async", "stream")}

    assert seen == {"complete": [TEXT, kind], "async": [TEXT, kind], "stream": TEXT}
    assert report[f"{model}: chat"]
    assert report[f"{model}: chat streamed"] == report[f"{model}: chat"]
