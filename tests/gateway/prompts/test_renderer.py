"""Templates of operators run elsewhere, within their budget, and can stop nobody else."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.prompts.renderer import (
    COMMAND,
    ENVIRONMENT,
    ROOT,
    PromptFailed,
    PromptQuarantined,
    Renderer,
)

pytestmark = pytest.mark.anyio

ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
HOSTILE = {
    "a range": "{% for i in range(10**9) %}x{% endfor %}",
    "nested loops": ENDLESS,
    "one multiplication": "{{ 'x' * 10**12 }}",
    "a long one that is thrown away": "{% set x = [0] * 10**12 %}",
    "powers": "{{ 10 ** (10 ** (10 ** 2)) }}",
    "a filter": "{{ 'x'|center(10**12) }}",
    "a format": "{{ '%0999999999999d'|format(1) }}",
    "doubling": "{% set n = namespace(a='x') %}{% for i in range(99) %}"
    "{% set n.a = n.a ~ n.a %}{% endfor %}{{ n.a }}",
    "recursion": "{% macro m() %}{{ m() }}{{ m() }}{% endmacro %}{{ m() }}",
    "much to say": "{% set x = 'a' * 1000 %}{% for i in range(100) %}{{ x }}{% endfor %}",
    "wide letters": "{{ '\u20ac' * 30000 }}",
    "a class": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "a function's globals": "{{ cycler.__init__.__globals__ }}",
    "a format's way": "{{ '{0.__class__}'.format(1) }}",
    "another file": "{% include '/etc/passwd' %}",
    "an import": "{% import 'os' as os %}",
    "depth": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "chance": "{{ [1, 2]|random }}",
}


@pytest.fixture
async def renderer() -> AsyncIterator[Renderer]:
    made = Renderer()
    yield made
    await made.aclose()


async def test_it_says_what_jinja_says(renderer: Renderer) -> None:
    text = "{% if now_hour < 12 %}Good morning{% else %}Hello{% endif %}, {{ org_name|upper }}.\n"

    assert await renderer.render(text, {"now_hour": 9, "org_name": "Acme"}) == (
        "Good morning, ACME.\n"
    )
    assert await renderer.render(text, {"now_hour": 12, "org_name": "<b>"}) == "Hello, <B>.\n"


async def test_names_without_a_value_stay_and_are_false(renderer: Renderer) -> None:
    text = "{{ nobody }} {{ a.b['c'] }} {% if language %}{{ language }}{% else %}-{% endif %}"

    assert await renderer.render(text, {}) == "{{ nobody }} {{ a.b.c }} -"


async def test_a_value_is_never_a_template(renderer: Renderer) -> None:
    assert await renderer.render("{{ org_name }}", {"org_name": "{{ 7 * 7 }}"}) == "{{ 7 * 7 }}"


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
async def test_a_hostile_template_is_refused_and_others_are_served(
    renderer: Renderer, text: str
) -> None:
    with pytest.raises(PromptFailed):
        await renderer.render(text, {})

    assert await renderer.render("{{ now_day }}", {"now_day": 3}) == "3"


async def test_the_loop_goes_on_while_a_template_does_not_end(renderer: Renderer) -> None:
    endless = asyncio.ensure_future(renderer.render(ENDLESS, {}))

    turns = 0
    while not endless.done():
        turns += 1
        await asyncio.sleep(0)

    with pytest.raises(PromptFailed):
        endless.result()
    assert turns > 1


async def test_what_used_up_its_time_rests(renderer: Renderer) -> None:
    values = [{"now_day": 1}, {"now_day": 2}]
    for value in values:
        with pytest.raises(PromptFailed, match="takes too long"):
            await renderer.render(ENDLESS + "{{ now_day }}", value)

    assert renderer._worker is None


async def test_what_ended_its_cell_is_not_tried_with_the_same_values(renderer: Renderer) -> None:
    await renderer.render("{{ now_day }}", {"now_day": 1})  # a worker that a busy machine started
    with pytest.raises(PromptFailed):
        await renderer.render(ENDLESS, {})
    renderer._backoff_until.clear()

    with pytest.raises(PromptQuarantined):
        await renderer.render(ENDLESS, {})

    assert renderer._worker is None


async def test_one_that_is_given_up_leaves_no_answer_to_the_next(renderer: Renderer) -> None:
    await renderer.render("{{ now_day }}", {"now_day": 1})
    waiting = asyncio.ensure_future(renderer.render("{{ now_day }}", {"now_day": 2}))
    await asyncio.sleep(0)
    waiting.cancel()

    assert await renderer.render("{{ now_day }}", {"now_day": 3}) == "3"


async def test_what_was_said_for_the_same_values_is_said_again(renderer: Renderer) -> None:
    output = await renderer.render("{{ now_day }}", {"now_day": 1, "now_unix": 1})
    await renderer.aclose()

    assert await renderer.render("{{ now_day }}", {"now_day": 1, "now_unix": 2}) == output
    assert renderer._worker is None


async def test_a_mistake_names_its_line(
    renderer: Renderer, caplog: pytest.LogCaptureFixture
) -> None:
    await renderer.prepare(["fine", "one\n{% if x"])

    assert "Line 2" in caplog.text
    with pytest.raises(PromptFailed, match="Line 3: ZeroDivisionError"):
        await renderer.render("a\nb\n{{ 1 / 0 }}", {})


def test_a_cell_has_nothing_open_and_ends_with_its_parent() -> None:
    worker = subprocess.Popen(
        COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, env=ENVIRONMENT
    )
    assert worker.stdin is not None
    assert worker.stdout is not None
    worker.stdin.write(b'{"text": "a"}\n')
    worker.stdin.flush()
    assert worker.stdout.readline() == b'{"names": []}\n'
    limits = Path(f"/proc/{worker.pid}/limits").read_text()
    told = Path(f"/proc/{worker.pid}/environ").read_bytes()

    worker.stdin.close()

    assert worker.wait(20) == 0
    worker.stdout.close()
    assert told.count(b"=") == 1
    [files] = [line for line in limits.splitlines() if line.startswith("Max open files")]
    assert files.split()[3:5] == ["3", "3"]
