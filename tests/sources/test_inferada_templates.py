"""Inferada, prompt templates: what becomes of system messages (S0-06), and the guide (S0-46)."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest

from gateway.prompts.variables import KNOWN
from tests.flows.site import Site
from tests.house.tree import text_of
from tests.sources.product import Client

NAMES = count(1)
USER = {"role": "user", "content": "script:echo"}
GUIDE = "docs/prompt-templates.md"


def system(content: Any, role: str = "system") -> dict[str, Any]:
    return {"role": role, "content": content}


@pytest.fixture
def add(site: Site) -> Any:
    """Return an adder of models: mode and prompt to the model's name."""

    def adder(mode: str, prompt: str = "") -> str:
        name = f"rendering-{next(NAMES)}"
        return site.add_model(name, template_render_mode=mode, default_system_prompt=prompt)

    return adder


def told(client: Client, model: str, *messages: dict[str, Any], **members: Any) -> list[Any]:
    """Return the messages that reach the provider."""
    sent = client.sent(model=model, messages=[*messages], stream=False, **members)
    found: list[Any] = sent["messages"]
    return found


def test_S0_06_off_leaves_names_in_braces_alone(inferada: Client, add: Any) -> None:
    mine = [system("I am {{ model_id }}."), USER, system("Still {{ model_id }}."), USER]

    assert told(inferada, "qwen3.5-35b", *mine) == mine
    assert told(inferada, add("off", "You are {{ model_id }}."), *mine) == [
        system("You are {{ model_id }}.\n\n---\n\nI am {{ model_id }}.\n\n---\n\n"
               "Still {{ model_id }}."),
        USER,
        USER,
    ]  # fmt: skip


def test_S0_06_vars_fills_in_system_messages_and_the_models_prompt(
    inferada: Client, add: Any
) -> None:
    name = add("vars", "You are {{ model_id }}, today is {{now_date}}. {{ nobody }}")
    before = datetime.now(UTC).date()

    first, *others = told(
        inferada, name, system("For {{ language }}, {% if x %}."), USER, inferada={"language": "nl"}
    )

    days = {before.isoformat(), datetime.now(UTC).date().isoformat()}
    assert first["content"] in {
        f"You are {name}, today is {day}. {{{{ nobody }}}}\n\n---\n\nFor nl, {{% if x %}}."
        for day in days
    }
    assert (first["role"], others) == ("system", [USER])


def test_S0_06_logic_runs_the_models_prompt_alone(inferada: Client, add: Any) -> None:
    prompt = "{% for n in range(3) %}{{ n }}{% endfor %} {% if language %}{{ language }}{% endif %}"
    name = add("logic", prompt)

    first, *others = told(inferada, name, system("{% if 1 %}{{ model_id }}{% endif %}"), USER)

    assert first == system(f"012 \n\n---\n\n{{% if 1 %}}{name}{{% endif %}}")
    assert others == [USER]


@pytest.mark.parametrize("mode", ["vars", "logic"])
def test_S0_06_what_others_say_is_never_rendered(inferada: Client, add: Any, mode: str) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    others: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": "{{ model_id }}"}]},
        {"role": "assistant", "content": "{{ model_id }}", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "{{ model_id }}"},
        {"role": "user", "content": "{{ model_id }}"},
        USER,
    ]

    assert told(inferada, add(mode, "Be {{ nobody }}."), *others)[1:] == others


def test_S0_06_a_caller_may_do_without_the_models_prompt(inferada: Client, add: Any) -> None:
    name = add("vars", "Never mind.")

    sent = told(
        inferada, name, system("I am {{ model_id }}."), USER, inferada={"skip_model_default": True}
    )

    assert sent == [system(f"I am {name}."), USER]


def test_S0_46_the_guide_to_templates_names_every_variable_and_mode() -> None:
    guide = text_of(GUIDE)

    assert {name for name in KNOWN if f"`{name}`" not in guide} == set()
    assert re.findall(r"^### `(\w+)`", guide, re.MULTILINE) == ["off", "vars", "logic"]
    assert "(docs/prompt-templates.md)" in text_of("README.md")
