"""PDFs for models that read none, in whole calls: what the model gets, and what it costs."""

from __future__ import annotations

import base64
import io
import json
from typing import Any

import pytest
from PIL import Image

from tests.flows.caller import Answer, Caller
from tests.flows.site import INPUT_NUSD, NUSD_PER_USD, OUTPUT_NUSD, Site
from tests.support.file_server import serving_files
from tests.support.pdf import write_encrypted_pdf, write_pdf

# As the site of these tests has set it.
PAGE_NUSD = 3_000_000
TWO_PAGES = write_pdf("First of all", "Second")
# As OpenRouter names it.
FORCED = [{"id": "file-parser", "pdf": {"engine": "pdf-text"}}]


def paper(content: bytes, filename: str = "report.pdf") -> dict[str, Any]:
    data = base64.b64encode(content).decode()
    return {"type": "file", "file": {"filename": filename, "file_data": data}}


def said(*blocks: dict[str, Any], script: str = "script:echo") -> list[dict[str, Any]]:
    # The script stands alone: the upstream reads it off all the texts of the last message.
    return [{"role": "user", "content": list(blocks)}, {"role": "user", "content": script}]


def ask(caller: Caller, model: str, *blocks: dict[str, Any], **options: Any) -> Answer:
    script = options.pop("script", "script:echo")
    return caller.with_(model=model).ask(messages=said(*blocks, script=script), **options)


def sent(answer: Answer) -> list[dict[str, Any]]:
    """Return the blocks that reached the provider."""
    assert answer.status == 200, answer.body
    blocks: list[dict[str, Any]] = json.loads(answer.echo["body_text"])["messages"][0]["content"]
    return blocks


def assert_refused(answer: Answer, code: str, param: str = "file.file_data") -> None:
    assert (answer.status, answer.error["code"]) == (400, code), answer.body
    assert answer.error["param"] == f"messages[0].content[0].{param}"


@pytest.fixture
def caller(files_site: Site) -> Caller:
    return files_site.caller()


def test_a_model_that_sees_gets_text_and_picture_of_each_page(caller: Caller) -> None:
    first, one, second, two = sent(ask(caller, "picture-model", paper(TWO_PAGES)))

    assert first == {"type": "text", "text": "[report.pdf — page 1/2]\nFirst of all"}
    assert second == {"type": "text", "text": "[report.pdf — page 2/2]\nSecond"}
    for block in (one, two):
        assert block["type"] == "image_url"
        kind, _, data = block["image_url"]["url"].partition(",")
        assert kind == "data:image/jpeg;base64"
        assert max(Image.open(io.BytesIO(base64.b64decode(data))).size) <= 2000


def test_a_model_that_does_not_see_gets_the_text(caller: Caller) -> None:
    half = write_pdf("First of all", "")

    first, second = sent(ask(caller, "text-model", paper(half)))

    assert first == {"type": "text", "text": "[report.pdf — page 1/2]\nFirst of all"}
    assert second == {"type": "text", "text": "[report.pdf — page 2/2]"}


def test_a_model_that_does_not_see_is_not_given_pages_without_text(caller: Caller) -> None:
    answer = ask(caller, "text-model", paper(write_pdf("", "")))

    assert_refused(answer, "pdf_not_supported_by_model")
    assert len(sent(ask(caller, "picture-model", paper(write_pdf("", ""))))) == 4


def test_models_that_read_pdfs_get_the_bytes(caller: Caller) -> None:
    data = f"data:application/pdf;base64,{base64.b64encode(TWO_PAGES).decode()}"
    block = {"type": "file", "file": {"filename": "report.pdf", "file_data": data}}

    assert sent(ask(caller, "all-seeing", block))[0] == block


def test_models_of_which_nobody_has_said_get_text_and_pictures_where_there_is_none(
    caller: Caller,
) -> None:
    texts = sent(ask(caller, "fake-model", paper(TWO_PAGES)))
    scanned = sent(ask(caller, "fake-model", paper(write_pdf(""))))

    assert [block["type"] for block in texts] == ["text", "text"]
    assert [block["type"] for block in scanned] == ["text", "image_url"]


def test_a_pdf_at_an_address_is_converted_too(caller: Caller) -> None:
    with serving_files(lambda path: (200, {}, TWO_PAGES)) as server:
        block = {"type": "file", "file_url": server.url("/far.pdf")}
        first, *_ = sent(ask(caller, "text-model", block))

    assert first == {"type": "text", "text": "[far.pdf — page 1/2]\nFirst of all"}


@pytest.mark.parametrize("model", ["all-seeing", "picture-model", "text-model"])
def test_with_the_plugin_pdf_every_model_gets_the_text(
    files_site: Site, caller: Caller, model: str
) -> None:
    with serving_files(lambda path: (200, {}, TWO_PAGES)) as server:
        far = {"type": "file", "file_url": server.url("/far.pdf")}
        answer = ask(caller, model, paper(TWO_PAGES), far, plugins=FORCED)

    assert [block["text"] for block in sent(answer)] == [
        f"[{name}.pdf — page {page}\n{text}"
        for name in ("report", "far")
        for page, text in (("1/2]", "First of all"), ("2/2]", "Second"))
    ]
    # The model can read others, too.
    [tool] = json.loads(answer.echo["body_text"])["tools"]
    assert tool["function"]["name"] == "hi_pdf"
    assert files_site.record(answer.call_id)["pdf_pages"] == 0


def test_with_the_plugin_pdf_a_pdf_without_text_is_refused(
    files_site: Site, caller: Caller
) -> None:
    answer = ask(caller, "all-seeing", paper(write_pdf("", "")), plugins=FORCED)
    off = ask(caller, "all-seeing", paper(write_pdf("")), plugins=[FORCED[0] | {"enabled": False}])

    assert_refused(answer, "pdf_not_supported_by_model")
    assert "plugin pdf" in answer.error["message"]
    assert files_site.tries(answer.call_id) == []
    assert sent(off)[0]["type"] == "file"


def test_a_model_without_tools_gets_the_text_of_attached_pdfs_alone(
    files_site: Site, caller: Caller
) -> None:
    abilities = {"supports_tools": False, "supports_pdf": True}
    files_site.office.do("model", name="reader-without-tools", provider="fake")
    files_site.office.do("describe_model", name="reader-without-tools", **abilities)
    files_site.add_model("added-after-it")

    answer = ask(caller, "reader-without-tools", paper(TWO_PAGES), plugins=FORCED)
    refused = caller.with_(model="reader-without-tools").ask(plugins=FORCED)

    assert sent(answer)[1] == {"type": "text", "text": "[report.pdf — page 2/2]\nSecond"}
    assert "tools" not in json.loads(answer.echo["body_text"])
    assert (refused.status, refused.error["code"]) == (400, "unsupported_parameter")


def test_each_page_that_became_a_picture_costs_the_fee(files_site: Site, caller: Caller) -> None:
    papers = [paper(TWO_PAGES), paper(write_pdf("Other"), "b.pdf")]

    answer = ask(caller, "picture-model", *papers, script="script:tokens=5", max_tokens=50)

    usage = answer.json["usage"]
    tokens_nusd = usage["prompt_tokens"] * INPUT_NUSD + usage["completion_tokens"] * OUTPUT_NUSD
    charge_nusd = tokens_nusd + 3 * PAGE_NUSD
    assert usage["cost"] == charge_nusd / NUSD_PER_USD
    assert answer.json["credits_used"] == float(answer.headers["x-credits-used"])
    assert answer.json["credits_used"] >= 100 * usage["cost"]
    record = files_site.record(answer.call_id)
    assert (record["pdf_pages"], record["pdf_page_nusd"]) == (3, PAGE_NUSD)
    assert (record["charge_nusd"], record["absorbed_nusd"]) == (charge_nusd, 0)
    assert record["hold_nusd"] >= charge_nusd + 45 * OUTPUT_NUSD
    assert files_site.balance_nusd(caller) == NUSD_PER_USD - charge_nusd
    told = generation(caller, answer.call_id)
    assert told["tool_costs_micro_usd"] == {"pdf": "9000"}
    assert told["cost_nano_usd"] == str(charge_nusd)


def test_the_fee_is_the_same_for_the_same_call_again(files_site: Site, caller: Caller) -> None:
    answers = [
        ask(caller, "free-pictures", paper(TWO_PAGES), script="script:tokens=1", stream=stream)
        for stream in (False, True)
    ]

    charges = [files_site.record(answer.call_id)["charge_nusd"] for answer in answers]
    assert charges == [2 * PAGE_NUSD] * 2
    assert answers[1].chunks[-1]["usage"]["cost"] == 2 * PAGE_NUSD / NUSD_PER_USD


def test_text_alone_costs_no_fee(files_site: Site, caller: Caller) -> None:
    answer = ask(caller, "text-model", paper(TWO_PAGES), script="script:tokens=1")

    record = files_site.record(answer.call_id)
    assert (record["pdf_pages"], record["pdf_page_nusd"]) == (0, 0)
    assert generation(caller, answer.call_id)["tool_costs_micro_usd"] == {}


@pytest.mark.parametrize(
    ("script", "basis"),
    [
        ("script:fail=500", "zero_upstream"),
        ("script:tokens=0", "zero_empty"),
        ("script:drop=reset", "zero_upstream"),
    ],
)
def test_a_call_that_costs_nothing_costs_no_fee(
    files_site: Site, caller: Caller, script: str, basis: str
) -> None:
    answer = ask(caller, "free-pictures", paper(TWO_PAGES), script=script)

    record = files_site.record(answer.call_id)
    assert (record["charge_basis"], record["charge_nusd"]) == (basis, 0)
    assert (record["pdf_pages"], record["absorbed_nusd"]) == (2, 2 * PAGE_NUSD)
    assert generation(caller, answer.call_id)["tool_costs_micro_usd"] == {}
    assert files_site.balance_nusd(caller) == NUSD_PER_USD


def test_a_caller_who_leaves_pays_for_the_pages_that_were_used(
    files_site: Site, caller: Caller
) -> None:
    seeing = caller.with_(model="free-pictures")
    messages = said(paper(TWO_PAGES), script="script:tokens=500&delay_ms=20")

    with seeing.begin(messages=messages, stream=True) as live:
        live.wait_for_tokens(3)
        call_id = live.call_id
        live.reset()

    record = files_site.record(call_id)
    assert (record["status"], record["charge_basis"]) == ("cancelled", "estimate")
    assert record["charge_nusd"] == 2 * PAGE_NUSD


def test_a_balance_that_does_not_cover_the_pages_is_refused(files_site: Site) -> None:
    enough = files_site.caller(credit_nusd=2 * PAGE_NUSD)
    short = files_site.caller(credit_nusd=2 * PAGE_NUSD - 1)
    script = "script:tokens=1"

    assert ask(short, "free-pictures", paper(TWO_PAGES), script=script).status == 402
    answer = ask(enough, "free-pictures", paper(TWO_PAGES), script=script)

    assert answer.status == 200
    assert files_site.record(answer.call_id)["charge_nusd"] == 2 * PAGE_NUSD
    assert files_site.balance_nusd(enough) == 0


@pytest.mark.parametrize("model", ["picture-model", "text-model"])
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"%PDF-1.7\n1 0 obj\n", "broken"),
        (write_encrypted_pdf(), "encrypted"),
        (write_pdf(*["x"] * 101), "100 pages"),
    ],
    ids=["broken", "encrypted", "many pages"],
)
def test_documents_that_cannot_be_read_are_invalid(
    files_site: Site, caller: Caller, model: str, content: bytes, words: str
) -> None:
    answer = ask(caller, model, paper(content))

    assert_refused(answer, "invalid_file")
    assert words in answer.error["message"]
    assert files_site.tries(answer.call_id) == []


def test_a_name_cannot_pretend_to_be_more_than_a_name(caller: Caller) -> None:
    first, *_ = sent(ask(caller, "text-model", paper(TWO_PAGES, "../a\n\u202eb.pdf")))

    assert first["text"].splitlines()[0] == "[ab.pdf — page 1/2]"


def test_what_was_in_the_pages_counts_when_the_provider_counts_nothing(
    files_site: Site, caller: Caller
) -> None:
    long = write_pdf("many words " * 200)

    answer = ask(caller, "text-model", paper(long), script="script:usage=none")

    record = files_site.record(answer.call_id)
    assert record["charge_basis"] == "estimate"
    assert record["prompt_tokens"] > 400


def generation(caller: Caller, call_id: str) -> dict[str, Any]:
    told = caller.ask(method="GET", path=f"/v1/generation?id={call_id}", raw=b"")
    data: dict[str, Any] = told.json["data"]
    return data
