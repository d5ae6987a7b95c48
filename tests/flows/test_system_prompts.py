"""A model's own prompt and its callers' reach the provider as one, and count as what they are."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import pytest

from gateway.core.token_bounds import TOKENS_PER_MESSAGE, bound_tokens
from tests.flows.caller import Caller
from tests.flows.site import INPUT_NUSD, OUTPUT_NUSD, Site
from tests.support.waiting import wait_until

ECHO = {"role": "user", "content": "script:echo"}
ECHO_BYTES = '{"role": "user",  "content":"script:echo"}'
ENDLESS = "{% if request_id %}{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}"
_numbers = count(1)


def add(site: Site, **fields: Any) -> str:
    return site.add_model(f"prompted-{next(_numbers)}", **fields)


def sent_upstream(caller: Caller, messages: str) -> str:
    """Send these messages, JSON as written; return those that arrived, as they were written."""
    body = f'{{"model":"{caller.model}","messages":[{messages}],"seed":1}}'
    answer = caller.ask(raw=body.encode())
    assert answer.status == 200, answer.body
    arrived = str(answer.echo["body_text"])
    return arrived.partition('"messages":')[2].removesuffix(',"seed":1}')


def said(site: Site, model: str, *messages: dict[str, Any]) -> list[Any]:
    body = ",".join(map(json.dumps, messages))
    found: list[Any] = json.loads(sent_upstream(site.caller().with_(model=model), body))
    return found


def test_all_system_messages_become_the_first_in_their_order(site: Site) -> None:
    model = add(site, default_system_prompt="Be kind.")
    blocks = [{"type": "text", "text": "two"}, {"type": "text", "text": "lines"}]

    sent = said(
        site,
        model,
        {"role": "developer", "content": "One."},
        ECHO,
        {"role": "system", "content": blocks, "name": "x"},
        {"role": "system", "content": ""},
        {"role": "assistant", "content": "Hm."},
        ECHO,
    )

    whole = "Be kind.\n\n---\n\nOne.\n\n---\n\ntwo\nlines"
    assert sent == [
        {"role": "system", "content": whole},
        ECHO,
        {"role": "assistant", "content": "Hm."},
        ECHO,
    ]


def test_a_prompt_alone_is_the_first_message(site: Site) -> None:
    model = add(site, default_system_prompt='Be "kind".\n\u20ac')

    assert said(site, model, ECHO) == [{"role": "system", "content": 'Be "kind".\n\u20ac'}, ECHO]


def test_what_is_not_rendered_arrives_in_the_callers_own_bytes(site: Site) -> None:
    model = add(site, default_system_prompt="Be kind.")
    caller = site.caller().with_(model=model)

    arrived = sent_upstream(caller, f'{{"role":"system","content":"x"}}, {ECHO_BYTES}')

    assert json.loads(arrived)[0]["content"] == "Be kind.\n\n---\n\nx"
    assert arrived.endswith(f"}},{ECHO_BYTES}]")


@pytest.mark.parametrize("mode", ["off", "vars", "logic"])
def test_without_a_prompt_messages_stay_where_they_are(site: Site, mode: str) -> None:
    caller = site.caller().with_(model=add(site, template_render_mode=mode))
    nothing_to_do = f'{ECHO_BYTES},{{"role":"system", "content":"{{{{ nobody }}}}"}}, {ECHO_BYTES}'

    assert sent_upstream(caller, nothing_to_do) == f"[{nothing_to_do}]"


def test_without_a_prompt_names_are_filled_in_where_they_stand(site: Site) -> None:
    model = add(site, template_render_mode="vars")
    cached = {"type": "ephemeral"}
    block = {"type": "text", "text": "{{model_id}}", "cache_control": cached}

    sent = said(
        site, model, ECHO, {"role": "developer", "content": [block], "name": "n", "x": 1}, ECHO
    )

    filled = {"type": "text", "text": model, "cache_control": cached}
    assert sent == [ECHO, {"role": "developer", "content": [filled], "name": "n", "x": 1}, ECHO]


def test_a_workspace_is_called_by_its_name_of_now(site: Site) -> None:
    model = add(site, template_render_mode="vars", default_system_prompt="{{ org_name }}")
    caller = site.caller().with_(model=model)

    def name() -> str:
        return str(json.loads(sent_upstream(caller, ECHO_BYTES))[0]["content"])

    assert name().startswith("Workspace ")
    site.office.do("rename", workspace_id=caller.workspace_id, name="Zephyr {{ model_id }}")
    wait_until(lambda: name() == "Zephyr {{ model_id }}", what="the new name")


def test_the_request_id_in_a_prompt_is_the_calls(site: Site) -> None:
    model = add(site, template_render_mode="logic", default_system_prompt="{{ request_id }}!")
    answer = site.caller().with_(model=model).ask("script:echo")

    [first, _] = json.loads(answer.echo["body_text"])["messages"]
    assert first["content"] == f"{answer.call_id}!"


def test_the_prompt_is_paid_for_and_held_for(site: Site) -> None:
    text = "Be kind to everybody who asks. " * 40
    model = add(site, default_system_prompt=text)
    own_tokens = 2 * TOKENS_PER_MESSAGE + bound_tokens(text) + bound_tokens("script:echo")
    poor = site.caller(credit_nusd=own_tokens * INPUT_NUSD + 40 * OUTPUT_NUSD).with_(model=model)
    poorer = site.caller(credit_nusd=own_tokens * INPUT_NUSD).with_(model=model)

    answer, refused = poor.ask("script:echo"), poorer.ask("script:echo")

    assert json.loads(answer.echo["body_text"])["max_tokens"] == 40
    assert answer.json["usage"]["prompt_tokens"] > len(text.split())
    assert (refused.status, refused.error["code"]) == (402, "insufficient_credits")
    # Without the prompt the same money buys the call.
    bare = json.dumps(
        {"model": model, "messages": [ECHO], "inferada": {"skip_model_default": True}}
    )
    assert poorer.ask(raw=bare.encode()).status == 200


def test_a_stream_has_the_prompt_too(site: Site) -> None:
    model = add(site, template_render_mode="vars", default_system_prompt="I am {{ model_id }}.")

    answer = site.caller().with_(model=model).stream("script:echo")

    sent = json.loads(answer.echo["body_text"])["messages"]
    assert sent == [{"role": "system", "content": f"I am {model}."}, ECHO]


def test_a_template_that_fails_costs_nothing_and_harms_nobody(site: Site) -> None:
    """It was good with the values that it was tried with."""
    divided = add(
        site, template_render_mode="logic", default_system_prompt="{{ 1 / (language == 'en') }}"
    )
    endless = "{% if language != 'en' %}" + ENDLESS.partition("%}")[2] + "{% endfor %}{% endif %}"
    slow = add(site, template_render_mode="logic", default_system_prompt=endless)
    caller = site.caller()

    failed = [caller.ask(model=name) for name in (divided, slow, slow, divided)]

    # What ended the process that renders is refused at once the second time.
    assert [answer.status for answer in failed] == [500, 500, 422, 500]
    assert failed[2].error["code"] == "quarantined"
    for answer in failed:
        assert "prompt template" in answer.error["message"]
        assert site.tries(answer.call_id) == []
        assert site.record(answer.call_id)["charge_nusd"] == 0
    good = caller.ask(model=divided, inferada={"language": "en"})
    assert good.status == 200
    assert caller.ask().status == 200


def test_a_caller_cannot_ask_for_more_than_there_is_time_for(site: Site) -> None:
    model = add(site, template_render_mode="vars")
    messages = [{"role": "system", "content": "{{ now_day }}" * 10_001}, ECHO]

    answer = site.caller().ask(model=model, messages=messages)

    assert (answer.status, answer.error["param"]) == (400, "messages")


def test_what_an_operator_writes_holds_without_a_restart(site: Site) -> None:
    model = add(site)
    caller = site.caller().with_(model=model)

    site.gateway.manage(
        *("set_model", model, "--template-mode", "logic"),
        *("--system-prompt", "{{ model_id|upper }}"),
    )
    wait_until(lambda: model.upper() in sent_upstream(caller, ECHO_BYTES), what="the prompt")
    site.gateway.manage("set_model", model, "--template-mode", "off", "--system-prompt", "")

    wait_until(lambda: sent_upstream(caller, ECHO_BYTES) == f"[{ECHO_BYTES}]", what="its end")


@pytest.mark.parametrize("instead", ["Be brief.", ""])
def test_a_model_to_fall_back_to_gets_its_own_prompt(site: Site, instead: str) -> None:
    nobody = f"nobody-{next(_numbers)}"
    site.office.do("provider", name=nobody, base_url="http://127.0.0.1:1/v1")
    other = add(site, default_system_prompt=instead)
    model = add(
        site,
        provider=nobody,
        default_system_prompt="Be kind and never brief.",
        fallbacks=[other],
    )

    sent = said(site, model, ECHO)

    own = [{"role": "system", "content": instead}] if instead else []
    assert sent == [*own, ECHO]
