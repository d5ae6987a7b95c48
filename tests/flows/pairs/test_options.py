"""What a call asks for reaches the provider, or is refused, or is named as left out."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.flows.caller import CHAT, Answer, Caller
from tests.flows.messages.asking import MESSAGES
from tests.flows.pairs.conversation import Body, Format
from tests.flows.pairs.options import (
    OF_CHAT_COMPLETIONS,
    OF_MESSAGES,
    OF_RESPONSES,
    Option,
)
from tests.flows.responses.asking import RESPONSES

SAID = [{"role": "user", "content": "script:echo"}]
# Where each format is asked, the least it asks for, and what it can ask for beside.
ASKED: dict[str, tuple[str, Body, tuple[Option, ...]]] = {
    "chat": (CHAT, {"messages": SAID}, OF_CHAT_COMPLETIONS),
    "messages": (MESSAGES, {"messages": SAID, "max_tokens": 4000}, OF_MESSAGES),
    "responses": (RESPONSES, {"input": SAID, "store": False}, OF_RESPONSES),
}


# Which formats have each of the limits.
LIMITED_BY = {
    "max_tokens": ("chat", "messages"),
    "max_completion_tokens": ("chat",),
    "max_output_tokens": ("responses",),
}


def test_no_option_is_lost_in_silence(form: Format, caller: Caller) -> None:
    path, least, options = ASKED[form.name]

    def ask(*members: Body, **options: Any) -> Answer:
        body = {"model": caller.model} | least
        for each in members:
            body |= each
        return caller.begin(raw=json.dumps(body).encode(), path=path, **options).answer()

    lost = []
    left_out: Option | None = None
    for option in options:
        answer = ask(option.beside, option.members)
        if answer.status != 200:
            assert is_refusal(form, answer), (option, answer.body)
            assert_names(form, answer, option)
            continue
        is_named = option.known_as in named(answer)
        left_out = option if is_named else left_out
        if not is_named and sent(form, answer) == sent(form, ask(option.beside)):
            lost.append((option.members, named(answer)))
    assert lost == []
    if left_out is not None:
        needed = ask(left_out.beside, left_out.members, headers={"x-require-parameters": "true"})
        assert form.code_of(needed) == "unsupported_parameter"
        assert left_out.known_as in needed.error["details"]["params"]
        assert left_out.known_as in needed.error["message"]


def test_null_is_as_good_as_nothing(form: Format, caller: Caller) -> None:
    path, least, options = ASKED[form.name]

    def ask(members: Body) -> Answer:
        body = {"model": caller.model} | least | members
        return caller.begin(raw=json.dumps(body).encode(), path=path).answer()

    limits = ("max_tokens", "max_completion_tokens", "max_output_tokens")
    own = [name for name in limits if name not in least and form.name in LIMITED_BY[name]]
    nulls = dict.fromkeys([*own, *(name for option in options for name in option.members)])
    answer = ask(nulls)
    assert answer.status == 200, answer.body
    assert (named(answer), sent(form, answer)) == (set(), sent(form, ask({})))


def is_refusal(form: Format, answer: Answer) -> bool:
    """True where the answer says that the option cannot be had."""
    return answer.status == 400 and (
        form.code_of(answer) == "unsupported_parameter"
        or "The provider rejected the request" in answer.error["message"]
    )


def assert_names(form: Format, answer: Answer, option: Option) -> None:
    """Assert that a refusal of ours names a member that the caller has sent."""
    if form.code_of(answer) == "unsupported_parameter":
        member = re.split(r"[.\[]", answer.error["param"])[0]
        assert member in option.members | option.beside, answer.body


def named(answer: Answer) -> set[str]:
    return set(filter(None, answer.headers.get("x-dropped-params", "").split(",")))


def sent(form: Format, answer: Answer) -> Body:
    """Return the body that reached the provider."""
    body: Body = json.loads(json.loads(form.read(answer).text)["body_text"])
    return body
