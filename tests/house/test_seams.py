"""What a stranger adds takes a file and a row: a dialect, a framing, an endpoint, an operation, a
processor, a server tool, a counter, a metered unit. Each is in the scratch package
tests/house/seams, is added through a registry alone, and has a call over real sockets here."""

from __future__ import annotations

import ast
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gateway.core.units import UNITS
from gateway.endpoints.registry import ENDPOINTS
from gateway.processors.registry import PROCESSORS
from gateway.providers.registry import ADAPTERS
from gateway.tools.registry import TOOLS
from tests.flows.caller import Answer, Caller
from tests.house.seams.site import ScratchSite, running_scratch_site
from tests.house.seams.upstream import asked
from tests.house.tree import text_of
from tests.support.rows import FILE
from tests.support.servers import UpstreamServer
from tests.support.waiting import wait_until

# 3 prompt tokens at 1 USD and 5 completion tokens at 2 USD a million, 2 pages at 0.001 USD.
ONE_CALL_NUSD = 3 * 1_000 + 5 * 2_000 + 2 * 1_000_000
AUDIO_USAGE = (
    '{"prompt_tokens":1000,"completion_tokens":10,'
    '"prompt_tokens_details":{"cached_tokens":100,"audio_tokens":300}}'
)


@pytest.fixture(scope="module")
def scratch(
    home_template: Path, tmp_path_factory: pytest.TempPathFactory, upstream: UpstreamServer
) -> Iterator[ScratchSite]:
    folder = tmp_path_factory.mktemp("seams") / "home"
    with running_scratch_site(home_template, folder, upstream) as site:
        yield site


@pytest.fixture
def caller(scratch: ScratchSite) -> Caller:
    return scratch.caller()


def post(caller: Caller, path: str, body: Mapping[str, Any]) -> Answer:
    return caller.ask(path=path, raw=json.dumps(body).encode())


def test_a_dialect_with_a_framing_of_its_own_answers(caller: Caller) -> None:
    whole = caller.ask("Hello there", model="scratch-model", stream=False)
    streamed = caller.ask("Hello there", model="scratch-model", stream=True)

    assert (whole.status, streamed.status) == (200, 200)
    assert whole.text == "You said: Hello there"
    assert streamed.text == "Yousaid:Hellothere"
    assert streamed.chunks[-1]["usage"]["completion_tokens"] == 5


def test_another_format_for_chat_needs_no_provider_to_know_it(caller: Caller) -> None:
    whole = post(caller, "/v1/ask", {"model": "scratch-model", "ask": "Who?"})
    streamed = post(caller, "/v1/ask", {"model": "scratch-model", "ask": "Who?", "stream": True})
    by_openai = post(caller, "/v1/ask", {"model": "tollhouse/simulated", "ask": "Who?"})
    refused = post(caller, "/v1/ask", {"model": "scratch-model"})

    assert whole.json == {"said": "You said: Who?", "nusd": ONE_CALL_NUSD}
    assert streamed.frames[-1] == f'data: {{"nusd": {ONE_CALL_NUSD}}}'
    assert by_openai.json["said"]
    assert (refused.status, refused.error["param"]) == (400, "ask")


def test_an_operation_of_its_own_is_admitted_charged_and_recorded(
    scratch: ScratchSite, caller: Caller
) -> None:
    answer = post(caller, "/v1/words", {"model": "scratch-model", "texts": ["a b", "c"]})

    assert answer.json == {"counts": [2, 1], "nusd": ONE_CALL_NUSD}
    assert answer.headers["x-model-used"] == "scratch-model"
    record = scratch.record(caller, answer)["data"]
    assert record["total_cost"] == pytest.approx(ONE_CALL_NUSD / 1e9)
    assert record["ingress_format"] == "words"


def test_the_openapi_document_has_what_is_registered(caller: Caller) -> None:
    document = caller.ask(method="GET", path="/v1/openapi.json", raw=b"").json

    operation = document["paths"]["/ask"]["post"]
    body = operation["requestBody"]["content"]["application/json"]
    schema = document["components"]["schemas"]["AskRequest"]
    assert (operation["operationId"], operation["summary"]) == ("ask", "Ask a question")
    assert operation["security"] == [{"key": ["completions"]}]
    assert body["schema"] == {"$ref": "#/components/schemas/AskRequest"}
    assert schema["required"] == ["model", "ask"]
    assert operation["responses"]["200"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/Said"
    }
    assert "`insufficient_credits`" in operation["responses"]["402"]["description"]
    assert post(caller, "/v1/ask", body["examples"]["who"]["value"]).status == 200
    assert document["paths"]["/words"]["post"]["operationId"] == "countWords"
    record = document["components"]["schemas"]["Generation"]["properties"]["ingress_format"]
    assert {"ask", "words"} <= set(record["enum"])
    request = document["components"]["schemas"]["ChatCompletionRequest"]["properties"]
    plugins = request["plugins"]["anyOf"][0]["items"]["anyOf"]
    *named, of_family = [plugin["properties"]["id"] for plugin in plugins]
    names = {name for one in named for name in one["enum"]}
    assert names == {*TOOLS, "sum", "file-parser", "web"}
    assert of_family == {"type": "string", "pattern": "^mcp:"}
    members = document["components"]["schemas"]["Inferada"]["properties"]
    assert members["upper"]["anyOf"][0] == {"$ref": "#/components/schemas/UpperOptions"}
    assert {"backwards", "upper"} <= set(members["processors"]["anyOf"][0]["items"]["enum"])


def test_a_processor_changes_the_request_and_follows_the_stream(caller: Caller) -> None:
    asked.clear()
    wanted = {"inferada": {"processors": ["upper"]}, "model": "scratch-model"}

    whole = caller.ask("my secret", stream=False, **wanted)
    streamed = caller.ask("my secret", stream=True, **wanted)

    assert [one["question"] for one in asked] == ["my hidden", "my hidden"]
    assert whole.text == "YOU SAID: MY HIDDEN"
    assert streamed.text == "YOUSAID:MYHIDDEN"
    assert "x-stream-mode" not in streamed.headers


def test_a_processor_has_options_of_its_own(caller: Caller) -> None:
    asked.clear()

    def answer(options: object) -> Answer:
        wanted = {"processors": ["upper"], "upper": options}
        return caller.ask("my word", model="scratch-model", inferada=wanted)

    good, absent = answer({"word": "word"}), answer(None)
    wrong = [answer({"wrod": "word"}), answer({"word": 1}), answer([])]
    without = caller.ask("Hi", model="scratch-model", inferada={"backwards": {}})

    assert (good.status, absent.status) == (200, 200)
    assert [one["question"] for one in asked] == ["my hidden", "my word"]
    assert [one.status for one in (*wrong, without)] == [400] * 4
    assert [one.error["param"] for one in wrong] == [
        *("inferada.upper.wrod", "inferada.upper.word", "inferada.upper"),
    ]
    assert without.error["param"] == "inferada.backwards"


def test_a_processor_that_needs_the_whole_answer_has_it_replayed(scratch: ScratchSite) -> None:
    asked.clear()
    caller = scratch.caller("--scope", "completions", "--scope", "pii")
    wanted = {"inferada": {"processors": ["backwards"]}, "model": "scratch-model"}

    streamed = caller.ask("abc", stream=True, **wanted)
    unasked = scratch.caller("--scope", "completions").ask("abc", stream=True, **wanted)

    assert streamed.text == "cba :dias uoY"
    assert streamed.headers["x-stream-mode"] == "buffered-replay"
    assert [one["stream"] for one in asked] == [False]
    assert (unasked.status, unasked.error["code"]) == (403, "insufficient_scope")


@pytest.mark.parametrize("stream", [False, True])
def test_a_server_tool_runs_between_two_rounds(
    scratch: ScratchSite, caller: Caller, stream: bool
) -> None:
    plugins = [{"id": "sum", "events": True}]

    answer = caller.ask("1+2+3?", model="scratch-model", plugins=plugins, stream=stream)

    assert answer.text.replace(" ", "") == 'Yousaid:{"sum":6}'
    # Two rounds and one use of the tool.
    assert scratch.record(caller, answer)["data"]["total_cost"] == pytest.approx(
        (2 * ONE_CALL_NUSD + 7_000) / 1e9
    )


def ask_for_rounds(caller: Caller, *, tokens: int, stream: bool = False) -> Answer:
    """Ask for rounds of tools without end, each of so many tokens of output."""
    asked.clear()
    task = json.dumps({"calls": 99, "used": [3, tokens, 0]})
    return caller.ask(task, model="scratch-tokens", plugins=[{"id": "sum"}], stream=stream)


def round_nusd(tokens: int) -> int:
    return 3 * 1_000 + tokens * 2_000


@pytest.mark.parametrize("stream", [False, True])
def test_the_hold_grows_by_rounds_and_the_last_that_it_covers_has_no_tools(
    scratch: ScratchSite, stream: bool
) -> None:
    caller = scratch.poor_caller("0.005")

    answer = ask_for_rounds(caller, tokens=1000, stream=stream)

    assert answer.text.replace(" ", "") == 'Yousaid:{"sum":6}'
    assert [one["may_call"] for one in asked] == [True, True, False]
    assert [one["limit"] for one in asked[:2]] == [1000, 1000]
    assert 0 < asked[2]["limit"] < 500
    charge_nusd = 2 * round_nusd(1000) + round_nusd(5) + 2 * 7_000
    assert scratch.record(caller, answer)["data"]["cost_nano_usd"] == str(charge_nusd)
    # All that is left buys another call.
    left_nusd = 5_000_000 - charge_nusd
    assert caller.ask("Hi", model="scratch-tokens").status == 200
    assert asked[3]["limit"] > left_nusd // 2_000 - 100
    assert scratch.manage("prove")["breaks"] == []


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_ends_where_not_even_a_last_round_is_covered(
    scratch: ScratchSite, stream: bool
) -> None:
    caller = scratch.poor_caller("0.0022")

    answer = ask_for_rounds(caller, tokens=1000, stream=stream)

    chunks = answer.chunks if stream else [answer.json]
    reasons = [one["finish_reason"] for chunk in chunks for one in chunk["choices"]]
    assert (answer.status, [reason for reason in reasons if reason]) == (200, ["length"])
    assert [one["may_call"] for one in asked] == [True]
    charge_nusd = round_nusd(1000) + 7_000
    assert scratch.record(caller, answer)["data"]["cost_nano_usd"] == str(charge_nusd)
    assert scratch.manage("prove")["breaks"] == []


def test_the_hold_grows_no_further_than_the_key_may_spend(scratch: ScratchSite) -> None:
    caller = scratch.caller("--total-usd", "0.003")

    answer = ask_for_rounds(caller, tokens=500)

    assert [one["may_call"] for one in asked] == [True, False]
    assert 0 < asked[1]["limit"] < 1000
    charge_nusd = round_nusd(500) + round_nusd(5) + 7_000
    assert scratch.record(caller, answer)["data"]["cost_nano_usd"] == str(charge_nusd)
    # Nothing of it is held any more.
    assert caller.ask("Hi", model="scratch-tokens", max_tokens=900).status == 200


@pytest.mark.parametrize("stream", [False, True])
def test_a_limit_on_tokens_covers_every_round_or_the_last_is_shorter(
    scratch: ScratchSite, stream: bool
) -> None:
    caller = scratch.caller()
    rule = ("--metric", "completion_tokens", "--maximum", "1500", "--period", "hour")
    scratch.manage("set_limit_rule", "--key", caller.key_id, *rule)
    time.sleep(1.0)  # by then every process knows of a change

    answer = ask_for_rounds(caller, tokens=500, stream=stream)

    # 500 are used when the second round reserves 1,000, and 1,000 when the third would: it reserves
    # 250, and uses 5.
    chunks = answer.chunks if stream else [answer.json]
    reasons = [one["finish_reason"] for chunk in chunks for one in chunk["choices"]]
    assert (answer.status, [reason for reason in reasons if reason]) == (200, ["stop"])
    assert [one["may_call"] for one in asked] == [True, True, False]
    assert asked[2]["limit"] == 250
    assert caller.ask("Hi", model="scratch-tokens", max_tokens=496).status == 429
    assert caller.ask("Hi", model="scratch-tokens", max_tokens=495).status == 200


def test_counters_of_another_kind_are_asked(scratch: ScratchSite) -> None:
    caller = scratch.caller("--max-requests-per-minute", "1000")

    statuses = [caller.ask("Hi", model="scratch-model").status for _ in range(3)]

    assert statuses == [200, 200, 429]


def test_a_unit_is_metered_priced_and_proved(scratch: ScratchSite, caller: Caller) -> None:
    answer = caller.ask("Hi", model="scratch-model", stream=False)

    assert answer.json["usage"]["cost"] == pytest.approx(ONE_CALL_NUSD / 1e9)
    scratch.record(caller, answer)
    assert scratch.manage("prove")["breaks"] == []


def test_a_unit_may_have_a_price_column_of_its_own(scratch: ScratchSite, caller: Caller) -> None:
    priced = scratch.manage("set_model", "fake-model", "--price", "scratch_audio=32")
    scratch.manage(  # once it is offered, the price before it applies too
        *("add_model", "after-the-price", "--provider", "fake", "--native", "fake"),
        *("--input", "1", "--output", "2", "--max-output", "100"),
    )
    wait_until(lambda: caller.ask("Hi", model="after-the-price").status == 200, what="the model")

    answer = caller.ask(f"script:usage=raw:{AUDIO_USAGE}", model="fake-model")

    scratch.record(caller, answer)
    with closing(sqlite3.connect(scratch.home / FILE)) as database:
        [(units, price_nusd)] = database.execute(
            "SELECT units, charge_nusd + absorbed_nusd FROM gateway_callrecord WHERE id = ?",
            [answer.call_id.replace("-", "")],
        )
    assert priced["scratch_audio_pusd"] == 32_000_000
    assert answer.status == 200
    assert json.loads(units) == {"scratch_audio": {"count": 300, "pusd": 32_000_000}}
    assert price_nusd == 700 * 1_000 + 300 * 32_000 + 10 * 2_000
    assert scratch.manage("prove")["breaks"] == []


# What carries, relays, settles and records every call.
GENERAL = (
    *("gateway/pipeline.py", "gateway/call_closer.py", "gateway/stages.py"),
    *("gateway/streaming/relay.py", "gateway/accounting/settle.py"),
    *("gateway/providers/exchange.py", "gateway/journal/record.py", "gateway/journal/log.py"),
    *("gateway/consumers.py", "gateway/caller/connection.py"),
    *("gateway/providers/transports/direct.py", "gateway/providers/transports/base.py"),
)
# Words that mean something else there, too.
EVERYDAY = {"prompt", "completion", "cached", "reasoning", "image", "second", "chat", "page"}


@pytest.mark.parametrize("path", GENERAL)
def test_what_carries_every_call_names_none_of_what_is_registered(path: str) -> None:
    names = {name for pair in ADAPTERS for name in pair} | set(PROCESSORS) | set(TOOLS)
    names |= set(UNITS) | {one.paths[0] for one in ENDPOINTS}
    tree = ast.parse(text_of(path))
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    imports = {
        node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module
    }

    assert not texts & (names - EVERYDAY)
    concrete = ("gateway.endpoints.", "gateway.providers.", "gateway.processors.", "gateway.tools.")
    general = (
        *("gateway.endpoints.base", "gateway.providers.base", "gateway.providers.transports"),
        *("gateway.providers.exchange", "gateway.providers.empty_output"),
        *("gateway.providers.secrets",),
    )
    assert [
        module
        for module in sorted(imports)
        if module.startswith(concrete) and not module.startswith(general)
    ] == []
