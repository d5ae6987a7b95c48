"""Files by address, in whole calls: who has them fetched, from where, and what the model gets."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.site import INPUT_NUSD, NUSD_PER_USD, Site
from tests.support.file_server import Answer as Served
from tests.support.file_server import FileServer, serving_files
from tests.support.pdf import write_pdf
from tests.support.waiting import wait_until

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 30
PDF = write_pdf("Hello")
CSV = b"a,b\n1,2\n"
WAIT_S = 60
# Covers the bound of one file, and all that a model may write.
LITTLE_NUSD = 30_000 * INPUT_NUSD
FILES: dict[str, Served] = {
    "/a.pdf": (200, {}, PDF),
    "/a.png": (200, {}, PNG),
    "/data": (200, {"content-disposition": 'attachment; filename="table.csv"'}, CSV),
    "/lies.pdf": (200, {"content-type": "application/pdf"}, b"<html>no</html>"),
    "/nothing": (200, {}, b""),
    "/long.txt": (200, {}, b"x" * 900_000),
    "/moved": (301, {"location": "/a.pdf"}, b""),
    "/program": (200, {}, b"\x7fELF\0\0"),
}


@pytest.fixture
def files() -> Iterator[FileServer]:
    with serving_files(lambda path: FILES.get(path, (404, {}, b"hush hush"))) as server:
        yield server


@pytest.fixture
def caller(files_site: Site) -> Caller:
    return files_site.caller().with_(model="all-seeing")


def said(*blocks: dict[str, Any], script: str = "script:echo") -> list[dict[str, Any]]:
    return [{"role": "user", "content": [*blocks, {"type": "text", "text": script}]}]


def away(url: str, **members: str) -> dict[str, Any]:
    return {"type": "file", "file": {"file_url": url, **members}}


def sent(answer: Answer) -> list[dict[str, Any]]:
    """Return the blocks that reached the provider."""
    assert answer.status == 200, answer.body
    blocks: list[dict[str, Any]] = json.loads(answer.echo["body_text"])["messages"][0]["content"]
    return blocks


def as_block(filename: str, kind: str, content: bytes) -> dict[str, Any]:
    data = f"data:{kind};base64,{base64.b64encode(content).decode()}"
    return {"type": "file", "file": {"filename": filename, "file_data": data}}


def assert_refused(answer: Answer, code: str, param: str | None, status: int = 400) -> None:
    assert (answer.status, answer.error["code"]) == (status, code), answer.body
    assert answer.error["param"] == param
    assert b"hush" not in answer.body


@pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
def test_the_model_gets_what_is_at_the_address(
    caller: Caller, files: FileServer, stream: bool
) -> None:
    beside = {"type": "file", "file_url": files.url("/a.png"), "filename": "b.png"}
    blocks = [
        away(files.url("/a.pdf")),
        beside,
        away(files.url("/data")),
        away(files.url("/moved")),
    ]

    answer = caller.ask(messages=said(*blocks), stream=stream)

    assert sent(answer) == [
        as_block("a.pdf", "application/pdf", PDF),
        as_block("b.png", "image/png", PNG),
        as_block("table.csv", "text/csv", CSV),
        as_block("a.pdf", "application/pdf", PDF),
        {"type": "text", "text": "script:echo"},
    ]


def test_every_other_byte_of_the_messages_stays_the_callers_own(
    caller: Caller, files: FileServer
) -> None:
    before = b'{"role" : "system","content":"\\u00e9 1.50"}'
    beside = b'{"type":"text",  "text":"\\u0041", "kept":1.0}'
    behind = b'{"role":"user","content" : "script:echo"}'
    block = json.dumps(away(files.url("/a.pdf"))).encode()
    asking = b'{"role":"user","content":[%b,%b]}' % (block, beside)
    body = b'{"model":"all-seeing","messages":[%b,%b,%b]}' % (before, asking, behind)

    answer = caller.ask(raw=body)

    assert answer.status == 200, answer.body
    arrived = answer.echo["body_text"].encode()
    assert beside in arrived
    assert json.loads(arrived)["messages"][0] == json.loads(before)
    assert json.loads(arrived)["messages"][1]["content"][0] == as_block(
        "a.pdf", "application/pdf", PDF
    )


def test_bytes_that_came_along_come_first(caller: Caller, files: FileServer) -> None:
    block = away(files.url("/a.pdf"), file_data=base64.b64encode(CSV).decode(), filename="t.csv")

    assert sent(caller.ask(messages=said(block)))[0] == as_block("t.csv", "text/csv", CSV)
    by_id = away(files.url("/a.pdf"), file_id="file-none")
    assert_refused(caller.ask(messages=said(by_id)), "file_not_found", "messages[0].content[0]")
    assert files.requests == []


def test_several_are_fetched_at_once(caller: Caller) -> None:
    together = threading.Barrier(5)

    def serve(path: str) -> Served:
        together.wait(WAIT_S)
        return 200, {}, CSV

    with serving_files(serve) as server:
        blocks = [away(server.url(f"/{number}.csv")) for number in range(5)]
        assert len(sent(caller.ask(messages=said(*blocks)))) == 6


def test_no_more_than_five_are_fetched(caller: Caller, files: FileServer) -> None:
    blocks = [away(files.url("/a.pdf"))] * 6

    answer = caller.ask(messages=said(*blocks))

    assert_refused(answer, "invalid_request", "messages[0].content[5].file.file_url")
    assert files.requests == []


@pytest.mark.parametrize("path", ["/lies.pdf", "/nothing", "/program", "/none"])
def test_what_is_no_file_of_its_kind_is_invalid(
    files_site: Site, caller: Caller, files: FileServer, path: str
) -> None:
    answer = caller.ask(messages=said({"type": "text", "text": "see"}, away(files.url(path))))

    assert_refused(answer, "invalid_file", "messages[0].content[1].file.file_url")
    [record] = files_site.records(caller)
    assert (record["status"], record["error_code"]) == ("refused", "invalid_file")
    assert files_site.tries(answer.call_id) == []
    assert files_site.balance_nusd(caller) == NUSD_PER_USD


def test_declared_types_are_held_against_the_bytes(caller: Caller, files: FileServer) -> None:
    lie = away(files.url("/a.pdf"), mime_type="image/png")

    answer = caller.ask(messages=said(lie))

    assert_refused(answer, "invalid_file", "messages[0].content[0].file.file_url")


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.2:{port}/x", "http://localhost:{port}/x", "http://[::1]:{port}/x"),
        *("http://[::ffff:127.0.0.2]:{port}/x", "http://2130706434:{port}/x", "http://0:{port}/x"),
        *("http://127.2:{port}/x", "http://0x7f.0.0.2:{port}/x", "http://0177.0.0.2:{port}/x"),
        *("http://a@127.0.0.2:{port}/x", "http://127.0.0.1:{port}@127.0.0.2/x"),
        *("http://169.254.169.254/latest/meta-data", "http://10.0.0.1/", "ftp://127.0.0.1/x"),
        "{open}/to",
    ],
)
def test_nobody_is_sent_inside(caller: Caller, url: str) -> None:
    with serving_files(lambda path: (200, {}, b"hush"), host="127.0.0.2") as canary:
        inside = {"location": canary.url("/secret")}
        with serving_files(lambda path: (307, inside, b"")) as open_door:
            url = url.format(port=canary.port, open=open_door.url().rstrip("/"))
            answer = caller.ask(messages=said({"type": "file", "file_url": url}))

        code = "invalid_request" if url.startswith("ftp") else "invalid_file"
        assert_refused(answer, code, "messages[0].content[0].file_url")
        assert canary.requests == []


def test_nothing_is_fetched_for_a_caller_who_is_refused(
    files_site: Site, files: FileServer
) -> None:
    office = files_site.office
    messages = said(away(files.url("/a.pdf")))
    rich, poor = files_site.caller(), files_site.caller(credit_nusd=19_000 * INPUT_NUSD)
    unscoped = files_site.caller(scopes=["usage"])
    choosy = files_site.caller(allowed_models=["small-model"])
    locked = files_site.caller()
    office.do("lock", workspace_id=locked.workspace_id)
    wait_until(lambda: locked.ask().status == 403, what="the lock to be obeyed")

    answers = [
        rich.with_(secret="sk-wrong").ask(messages=messages),
        rich.with_(model="no-such-model").ask(messages=messages),
        rich.ask(messages=messages, temperature=9),
        poor.ask(messages=messages),
        unscoped.ask(messages=messages),
        choosy.ask(messages=messages),
        locked.ask(messages=messages),
    ]

    assert [answer.status for answer in answers] == [401, 404, 400, 402, 403, 403, 403]
    assert files.requests == []


def test_what_a_fetch_brings_counts_in_the_hold(files_site: Site, files: FileServer) -> None:
    # 900,000 letters are bounded by 585,001 tokens: the file's own bound, before, is 20,000.
    cost_nusd = 585_100 * INPUT_NUSD
    short, enough = files_site.caller(credit_nusd=cost_nusd // 2), files_site.caller()
    messages = said(away(files.url("/long.txt")), script="script:tokens=1")

    refused = short.ask(messages=messages)
    answer = enough.ask(messages=messages, max_tokens=1)

    assert_refused(refused, "insufficient_credits", None, 402)
    assert files_site.balance_nusd(short) == cost_nusd // 2
    assert answer.status == 200
    hold_nusd = files_site.record(answer.call_id)["hold_nusd"]
    assert 585_000 * INPUT_NUSD < hold_nusd < cost_nusd


def test_what_is_set_aside_for_a_fetch_is_free_again(files_site: Site, files: FileServer) -> None:
    caller = files_site.caller(credit_nusd=LITTLE_NUSD)

    assert caller.ask(messages=said(away(files.url("/none")))).status == 400

    files_site.assert_free(caller, LITTLE_NUSD)


def test_a_picture_at_an_address_asks_for_a_model_that_sees(
    caller: Caller, files: FileServer
) -> None:
    messages = said(away(files.url("/a.png")))

    answer = caller.with_(model="text-model").ask(messages=messages)

    assert_refused(answer, "image_not_supported_by_model", "messages")
    assert sent(caller.ask(messages=messages))[0] == as_block("a.png", "image/png", PNG)


def test_addresses_of_images_go_to_the_provider_as_they_are(
    caller: Caller, files: FileServer
) -> None:
    image = {"type": "image_url", "image_url": {"url": files.url("/a.png")}}

    assert sent(caller.ask(messages=said(image)))[0] == image
    assert files.requests == []


@pytest.mark.parametrize(
    "url",
    [
        *("http://127.0.0.2:{port}/x", "http://a@127.0.0.1/x", "http://2130706434:{port}/x"),
        *("http://169.254.169.254/latest/meta-data", "http://10.0.0.1/a.png", "http://[::1]/a"),
    ],
)
def test_a_provider_of_ours_is_not_sent_inside_for_an_image(
    files_site: Site, caller: Caller, url: str
) -> None:
    with serving_files(lambda path: (200, {}, b"hush"), host="127.0.0.2") as canary:
        address = url.format(port=canary.port)
        written = [{"url": address}, address]
        answers = [
            caller.ask(messages=said({"type": "image_url", "image_url": image}))
            for image in written
        ]

    for answer, param in zip(answers, (".url", ""), strict=True):
        place = f"messages[0].content[0].image_url{param}"
        assert_refused(answer, "invalid_file", place)
        assert files_site.tries(answer.call_id) == []


class Slow:
    """A server whose answer waits to be let go."""

    def __init__(self) -> None:
        self.asked, self.let_go = threading.Event(), threading.Event()

    def __call__(self, path: str) -> Served:
        self.asked.set()
        self.let_go.wait(WAIT_S)
        return 200, {}, PDF


def test_a_caller_who_hangs_up_ends_the_fetch(files_site: Site) -> None:
    caller, slow = files_site.caller(credit_nusd=LITTLE_NUSD), Slow()
    with serving_files(slow) as server:
        live = caller.begin(messages=said(away(server.url("/a.pdf"))))
        assert slow.asked.wait(WAIT_S)
        live.reset()

        [record] = files_site.records(caller)
        slow.let_go.set()

    assert (record["status"], record["error_code"]) == ("refused", "client_cancelled")
    assert files_site.tries(record["id"]) == []
    files_site.assert_free(caller, LITTLE_NUSD)


def test_a_key_revoked_during_the_fetch_calls_nobody(files_site: Site, caller: Caller) -> None:
    slow = Slow()
    with serving_files(slow) as server:
        live = caller.begin(messages=said(away(server.url("/a.pdf"))))
        assert slow.asked.wait(WAIT_S)
        files_site.office.do("revoke", key_id=caller.key_id)
        wait_until(lambda: caller.ask().status == 401, what="the revocation to be obeyed")
        slow.let_go.set()
        answer = live.answer()

    assert_refused(answer, "invalid_api_key", None, 401)
    assert files_site.tries(answer.call_id) == []


def test_an_idempotency_key_is_free_after_a_fetch_that_failed(
    caller: Caller, files: FileServer
) -> None:
    headers = {"idempotency-key": "one"}
    FILES["/later.pdf"] = (404, {}, b"")
    messages = said(away(files.url("/later.pdf")))

    first = caller.ask(messages=messages, headers=headers)
    FILES["/later.pdf"] = (200, {}, PDF)
    second = caller.ask(messages=messages, headers=headers)
    third = caller.ask(messages=messages, headers=headers)

    assert (first.status, second.status) == (400, 200)
    assert third.headers["idempotent-replayed"] == "true"
    assert len(files.requests) == 2
