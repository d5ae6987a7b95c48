"""The memory that the bodies of all requests may take, and who gets how much of it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.corpus.bodies import MB, call, saying
from tests.corpus.oracle import Witness, assert_refused
from tests.corpus.wire import Line, request, talk, with_key
from tests.flows.caller import Caller
from tests.flows.site import NUSD_PER_USD, Site, running_site
from tests.support.waiting import wait_until

CHUNKED = "Transfer-Encoding: chunked"
MEMORY_MB, COPIES = 16, 3


@pytest.fixture(scope="module")
def tight(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A gateway with as little memory for bodies as can be set."""
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("tight") / "home"))
    with running_site(home, {"TOLLHOUSE_BODY_MEMORY_MB": str(MEMORY_MB)}) as running:
        yield running
        assert "Traceback" not in running.gateway.log.read_text()


@pytest.fixture
def caller(tight: Site) -> Caller:
    return tight.caller(credit_nusd=1_000 * NUSD_PER_USD)


@pytest.fixture
def witness(tight: Site, caller: Caller) -> Iterator[Witness]:
    """Small calls are served whatever the bodies of others take."""
    watching = Witness(tight, tight.caller(credit_nusd=NUSD_PER_USD))
    yield watching
    watching.assert_unharmed()


@pytest.fixture
def lines() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def begin_upload(site: Site, caller: Caller, lines: ExitStack, megabytes: float) -> Line:
    """Send so much of a body without an end."""
    line = lines.enter_context(Line(site.gateway.port))
    line.send(with_key(request(CHUNKED, body=b"", sized=False), caller.secret))
    size = int(megabytes * MB)
    line.send(b"%x\r\n" % size + b" " * size + b"\r\n")
    return line


def memory_bytes(site: Site) -> int:
    """Return what the server has in memory that no file has: the journal is not among it."""
    status = Path(f"/proc/{site.gateway.process.pid}/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) * 1024


def take_refused(held: list[Line]) -> int:
    """Take out those of the uploads that were refused for want of memory. Returns how many."""
    refused = 0
    for line in list(held):
        try:
            answer = line.listen(answers=1, within_s=0.01).answer
        except TimeoutError:
            continue
        assert_refused(answer, 503, "overloaded")
        assert int(answer.headers["retry-after"]) >= 1
        held.remove(line)
        refused += 1
    return refused


def send(site: Site, caller: Caller, body: bytes) -> int:
    raw = with_key(request(body=body), caller.secret)
    return talk(site.gateway.port, raw, answers=1).answer.status


def test_uploads_that_are_held_take_so_much_memory_and_no_more(
    tight: Site, caller: Caller, witness: Witness, lines: ExitStack
) -> None:
    before = witness.rss_bytes()

    held = [begin_upload(tight, caller, lines, 3) for _ in range(12)]

    wait_until(lambda: take_refused(held) + 1 and len(held) <= 5, what="refusals")
    assert witness.rss_bytes() - before < 2 * MEMORY_MB * MB
    records = tight.records(caller, count=7)
    assert {record["error_code"] for record in records} == {"overloaded"}
    assert {record["hold_nusd"] for record in records} == {0}


def test_memory_comes_back_when_uploads_are_given_up(
    tight: Site, caller: Caller, witness: Witness
) -> None:
    with ExitStack() as lines:
        held = [begin_upload(tight, caller, lines, 3) for _ in range(6)]
        wait_until(lambda: take_refused(held), what="a refusal")
    witness.expected_calls = 1

    wait_until(lambda: send(tight, caller, saying(b"a" * 3 * MB)) == 200, what="room again")


def test_who_holds_most_makes_room_for_others(
    tight: Site, caller: Caller, witness: Witness, lines: ExitStack
) -> None:
    """A key that takes all it gets is the first to lose an upload when another key needs room."""
    held = [begin_upload(tight, caller, lines, 3) for _ in range(4)]
    other = tight.caller(credit_nusd=1_000 * NUSD_PER_USD)
    witness.expected_calls = 1

    assert send(tight, other, saying(b"a" * (MB + MB // 2))) == 200

    wait_until(lambda: take_refused(held), what="an upload to be given up")


def test_the_body_of_a_running_call_counts_until_the_call_ends(
    tight: Site, caller: Caller, witness: Witness, lines: ExitStack
) -> None:
    def begin(gate: str) -> Line:
        line = lines.enter_context(Line(tight.gateway.port))
        messages = [
            {"role": "user", "content": "a" * (MB + MB // 4)},
            {"role": "user", "content": f"script:gate={gate}"},
        ]
        body = call(messages=messages)
        line.send(with_key(request(body=body), caller.secret))
        return line

    witness.expected_calls = 4
    running = [begin(f"body{number}") for number in range(3)]
    tight.running(caller, count=3)

    refused = talk(
        tight.gateway.port, with_key(request(body=saying(b"a" * MB)), caller.secret), answers=1
    )

    assert_refused(refused.answer, 503, "overloaded")
    for number, line in enumerate(running):
        tight.upstream.open_gate(f"body{number}")
        assert line.listen(answers=1).answer.status == 200
    assert send(tight, caller, saying(b"a" * MB)) == 200


def test_a_long_body_is_in_memory_three_times_while_its_call_runs(
    tight: Site, caller: Caller, witness: Witness, lines: ExitStack
) -> None:
    """As body, as messages and as what goes to the provider; its members are parts of it."""
    size_bytes = (MEMORY_MB - 1) * MB
    script = {"role": "user", "content": "script:gate=long"}
    body = call(messages=[{"role": "user", "content": "a" * size_bytes}, script])
    witness.expected_calls = 1
    before = witness.rss_bytes()

    line = lines.enter_context(Line(tight.gateway.port))
    line.send(with_key(request(body=body), caller.secret))
    tight.running(caller, count=1)

    assert witness.rss_bytes() - before < (COPIES + 0.5) * size_bytes
    tight.upstream.open_gate("long")
    assert line.listen(answers=1).answer.status == 200


@pytest.mark.parametrize(("is_kept", "most"), [(False, 1.5), (True, 2.5)], ids=["plain", "kept"])
def test_large_answers_take_little_more_than_their_size(  # D9
    tight: Site, caller: Caller, witness: Witness, lines: ExitStack, is_kept: bool, most: float
) -> None:
    """Ten at once, each of them 10 MB; where they are kept for their idempotency keys, the record
    of each call has its answer too, until it is posted."""
    gate = f"large-{is_kept}"
    script = f"script:tokens=16000&token_bytes=640&gate={gate}"
    body = call(messages=[{"role": "user", "content": script}], max_tokens=16_000)
    witness.expected_calls = 10
    asking = [lines.enter_context(Line(tight.gateway.port)) for _ in range(10)]
    for number, line in enumerate(asking):
        raw = request(*[f"Idempotency-Key: large-{number}"] * is_kept, body=body)
        line.send(with_key(raw, caller.secret))
    tight.running(caller, count=10)
    before = memory_bytes(tight)
    peaks = [before]
    is_over = threading.Event()

    def watch() -> None:
        while not is_over.wait(0.002):
            peaks.append(max(peaks.pop(), memory_bytes(tight)))

    watching = threading.Thread(target=watch)
    watching.start()
    tight.upstream.open_gate(gate)
    sizes = [len(line.listen(answers=1).answer.body) for line in asking]
    is_over.set()
    watching.join()
    assert min(sizes) > 10_000_000
    assert peaks[0] - before < most * sum(sizes)


def test_a_body_that_is_alone_is_let_in_however_long(
    tight: Site, caller: Caller, witness: Witness
) -> None:
    witness.expected_calls = 1
    longest = saying(b"a" * (MEMORY_MB - 1) * MB)

    wait_until(lambda: send(tight, caller, longest) == 200, what="nobody else's body to be there")


@pytest.mark.parametrize("line", ["POST /v1/chat/completions HTTP/1.1", "POST /no HTTP/1.1"])
def test_a_body_of_one_byte_chunks_is_refused(
    tight: Site, caller: Caller, witness: Witness, line: str
) -> None:
    raw = with_key(request(CHUNKED, line=line, body=b"", sized=False), caller.secret)

    talked = talk(tight.gateway.port, raw + b"1\r\n \r\n" * 100_000)

    assert talked.answer.status in (400, 404)
    assert talked.is_closed


def test_a_body_of_many_decent_chunks_is_read(
    tight: Site, caller: Caller, witness: Witness
) -> None:
    witness.expected_calls = 1
    body = saying(b"a" * 200_000)
    chunks = [body[start : start + 100] for start in range(0, len(body), 100)]
    raw = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks) + b"0\r\n\r\n"
    head = with_key(request(CHUNKED, body=b"", sized=False), caller.secret)

    assert talk(tight.gateway.port, head + raw, answers=1).answer.status == 200
