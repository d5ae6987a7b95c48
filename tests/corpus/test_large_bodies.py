"""Bodies as long as the gateway takes them by default: none stops the others, none stays.

Part of groups J (J28, J31, J32) and C (C8, C28, C42); what one megabyte can show is in test_bodies
and test_meanings.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.corpus.bodies import HELLO, MB, call, saying
from tests.corpus.meanings import tool
from tests.corpus.oracle import Witness, assert_refused, assert_refused_in_records
from tests.corpus.wire import request, talk, with_key
from tests.flows.caller import Answer, Caller
from tests.flows.site import NUSD_PER_USD, Site, running_site


@pytest.fixture(scope="module")
def roomy(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A gateway that takes bodies as long as it does by default."""
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("roomy") / "home"))
    with running_site(home) as running:
        yield running
        assert "Traceback" not in running.gateway.log.read_text()


@pytest.fixture(scope="module")
def sender(roomy: Site) -> Caller:
    return roomy.caller(credit_nusd=1_000 * NUSD_PER_USD)


@pytest.fixture
def witness(roomy: Site, sender: Caller) -> Iterator[Witness]:
    watching = Witness(roomy, sender)
    yield watching
    watching.assert_unharmed()


def send(site: Site, caller: Caller, body: bytes) -> Answer:
    raw = with_key(request(body=body), caller.secret)
    return talk(site.gateway.port, raw, answers=1).answer


def many(pattern: bytes, megabytes: int) -> bytes:
    return pattern * (megabytes * MB // len(pattern))


REFUSED = {
    "J28 a million names": b"{" + b",".join(b'"%d":1' % n for n in range(10**6)) + b"}",
    "J28 lists": b"[" + many(b"[],", 40) + b"1]",
    "J28 objects": b"[" + many(b"{},", 40) + b"1]",
    "J28 numbers": b"[" + many(b"1,", 40) + b"1]",
    "J28 empty strings": b"[" * 65 + many(b'"",', 40),
    "J26 lists": many(b"[", 40),
    "J26 behind a string that never ends": b"[]" * 65 + b'"' + many(b'\\"', 40),
    "names that are escapes": b'{"' + many(rb"\u0061", 20),
    "spaces": many(b" ", 40),
    "C8 messages that are none": call(messages=[0] * 10**6),
    "C8 messages": call(messages=[HELLO] * 10**5),
}
NO_CALLS = {
    "J31 around nothing": (many(b" ", 20) + b"{}" + many(b"\n", 20), "model"),
    "a long name": (call(b'"tensorzero::%s":1' % many(b"a", 20)), None),
    "a long tool": (call(tools=[], tool_choice=tool("a" * 20 * MB)), "tool_choice.function.name"),
    "a long reference": (call(guided_json={"$ref": "a" * 20 * MB}), "guided_json"),
    "a long part": (call(structured_outputs={"a" * 20 * MB: 1}), None),
    "one string": (b'"' + many(b"a", 40) + b'"', None),
    "a string of escapes": (b'"' + many(rb"\"", 40) + b'"', None),
    "C28": (call(response_format="x" * 20 * MB), "response_format"),
    "C4": (call(b'"user":7', model="m" * 20 * MB), "model"),
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_too_much_of_it_is_no_json(
    roomy: Site, sender: Caller, witness: Witness, body: bytes
) -> None:
    assert_refused(send(roomy, sender, body), 400, "invalid_json")


@pytest.mark.parametrize(("body", "param"), NO_CALLS.values(), ids=NO_CALLS)
def test_a_long_body_that_is_no_call_is_refused(
    roomy: Site, sender: Caller, witness: Witness, body: bytes, param: str | None
) -> None:
    answer = send(roomy, sender, body)

    assert answer.status == 400
    assert answer.error["code"] in ("invalid_request", "unsupported_parameter")
    assert param in (None, answer.error["param"])
    assert len(answer.body) < 5_000


@pytest.mark.slow
def test_long_bodies_leave_nothing_behind(roomy: Site, witness: Witness) -> None:
    holder = roomy.caller()
    bodies = [*REFUSED.values(), *(body for body, _ in NO_CALLS.values())]
    codes = [send(roomy, holder, body).error["code"] for body in bodies]
    before = witness.rss_bytes()

    codes += [send(roomy, holder, body).error["code"] for body in bodies]

    assert witness.rss_bytes() - before < 100 * MB
    assert_refused_in_records(roomy, holder, Counter(codes))


def test_a_long_string_is_passed_on(roomy: Site, sender: Caller, witness: Witness) -> None:  # J32
    witness.expected_calls = 1

    assert send(roomy, sender, saying(many(b"a", 15))).status == 200


# Prompts that are hard on a tokenizer: whatever is one piece to it, and whatever is many.
HARD = ("a", "\U0001f600", "^", " ", "\n", "1", "ÿ", "a1", "日", "' ", "\u0301", "a\u200d", "-_")


@pytest.mark.parametrize("pattern", HARD, ids=ascii)
@pytest.mark.parametrize("chars", [399_000, 4_000_000])
def test_a_prompt_is_counted_whatever_it_is(  # C42
    roomy: Site, witness: Witness, pattern: str, chars: int
) -> None:
    rich = roomy.caller(credit_nusd=1_000 * NUSD_PER_USD)
    prompt = pattern * (chars // len(pattern))
    silent = {"role": "user", "content": "script:usage=none&tokens=3"}
    body = json.dumps(
        {"model": "fake-model", "messages": [{"role": "user", "content": prompt}, silent]},
        ensure_ascii=False,
    ).encode()
    witness.expected_calls = 1

    answer = send(roomy, rich, body)

    assert answer.status == 200, answer.body[:200]
    record = roomy.record(answer.call_id)
    assert record["charge_basis"] == "estimate"
    assert 0 < record["charge_nusd"] <= record["hold_nusd"]
