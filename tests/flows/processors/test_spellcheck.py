"""A call with spellcheck gets its answer with the spelling corrected, whole or as a stream."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.processors.faulty_engines import HANGING, KILLED
from tests.flows.site import Site

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])
WRONG = "Your pakage was delivered to the wrong adress yesterday, please call us."
RIGHT = "Your package was delivered to the wrong address yesterday, please call us."


@pytest.fixture
def site(faulty_site: Site) -> Site:
    return faulty_site


@pytest.fixture
def caller(site: Site) -> Caller:
    return site.caller(scopes=["completions", "language"])


def spellcheck(language: str | None = "en", **options: Any) -> dict[str, Any]:
    return {"processors": ["spellcheck"], "language": language, "spellcheck": options}


def corrected(
    caller: Caller, said: str, *, inferada: dict[str, Any] | None = None, **members: Any
) -> Answer:
    """Make a call that is answered with a text."""
    script = urlencode({"text": said, "cut": 5, "tokens": len(said)})
    return caller.ask(f"script:{script}", inferada=inferada or spellcheck(), **members)


def told_of(answer: Answer, *, stream: bool = False) -> dict[str, Any]:
    chunks = answer.chunks if stream else [answer.json]
    [summary] = [one["inferada"] for one in chunks if "inferada" in one]
    report: dict[str, Any] = summary["processors"]["spellcheck"]
    assert report.pop("duration_ms") >= 0
    return report


@BOTH
def test_the_answer_is_corrected(site: Site, caller: Caller, stream: bool) -> None:
    answer = corrected(caller, WRONG, stream=stream)

    assert (answer.status, answer.text) == (200, RIGHT)
    assert told_of(answer, stream=stream) == {
        "status": "applied",
        "language": "en",
        "corrections": 2,
    }
    assert answer.headers.get("x-stream-mode") == ("buffered-replay" if stream else None)
    [use] = site.record(answer.call_id)["processors"]
    assert (use["name"], use["status"]) == ("spellcheck", "applied")


LANGUAGES = {
    "nl-BE": ("Wij hebben de pakketen onmiddelijk verstuurd.", "pakketten onmiddellijk"),
    "de": ("Ich habe das vieleicht vergesen.", "vielleicht vergessen"),
    "fr": ("Nous allons vous acueillir dans cette maisson.", "accueillir dans cette maison"),
    "es": ("Te respondemos mañanna por la tarde.", "mañana por"),
    "it": ("Le rispondo per il messagio domanni.", "messaggio domani"),
    "pt": ("Obrigado pela mensgem, com muito prazzer.", "mensagem, com muito prazer"),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_other_languages_are_corrected(caller: Caller, language: str) -> None:
    said, right = LANGUAGES[language]

    assert right in corrected(caller, said, inferada=spellcheck(language)).text


def test_what_is_clear_depends_on_the_level(caller: Caller) -> None:
    said = "There was no liht in the room, and a pakage stood at the door."

    texts = {
        level: corrected(caller, said, inferada=spellcheck(level=level)).text
        for level in ("default", "picky")
    }

    assert texts["default"] == said.replace("pakage", "package")
    assert texts["picky"] == texts["default"].replace("liht", "light")


def test_code_links_and_placeholders_stay(caller: Caller) -> None:
    said = (
        "See https://example.com/adress and `pakage()` for <INF_ADRESS_1>:\n\n"
        "```python\npakage = adress\n```\n\nYour adress."
    )

    assert corrected(caller, said).text == said.replace("Your adress", "Your address")


def test_json_and_tool_calls_stay(caller: Caller) -> None:
    data = json.dumps({"adress": "the wrong adress was given to the pakage service"})
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    script = urlencode({"tools": 1, "args": data})

    whole = corrected(caller, data)
    called = caller.ask(f"script:{script}", inferada=spellcheck(), tools=[tool])

    assert whole.text == data
    assert told_of(whole)["corrections"] == 0
    [call] = called.json["choices"][0]["message"]["tool_calls"]
    assert call["function"]["arguments"] == data


@BOTH
def test_it_reads_placeholders_where_data_were_taken_out(
    site: Site, caller: Caller, stream: bool
) -> None:
    caller = site.another_key(caller.workspace_id, scopes=["completions", "language", "pii"])
    inferada = spellcheck() | {"processors": ["spellcheck", "anonymise"]}
    said = "The adress of <INF_EMAIL_ADDRESS_1> is in the mail."
    script = urlencode({"text": said, "cut": 5, "tokens": len(said)})
    messages = [
        {"role": "user", "content": "Write to adress.pakage@example.com"},
        {"role": "user", "content": f"script:{script}"},
    ]

    answer = caller.ask(messages=messages, inferada=inferada, stream=stream)

    assert answer.text == "The address of adress.pakage@example.com is in the mail."


@pytest.mark.parametrize(
    ("inferada", "code"),
    [
        ({"processors": ["spellcheck"]}, "language_required"),
        (spellcheck("sv"), "language_not_supported"),
    ],
)
def test_a_language_has_to_be_named_that_there_are_words_of(
    site: Site, caller: Caller, inferada: dict[str, Any], code: str
) -> None:
    answer = caller.ask(inferada=inferada)

    assert (answer.status, answer.error["code"]) == (422, code)
    assert answer.error["details"]["supported"] == ["de", "en", "es", "fr", "it", "nl", "pt"]
    assert site.tries(answer.call_id) == []


def test_its_scope_and_its_options_are_checked(site: Site, caller: Caller) -> None:
    other = site.another_key(caller.workspace_id, scopes=["completions"])

    refused, wrong = other.ask(inferada=spellcheck()), caller.ask(inferada=spellcheck(level="all"))

    assert (refused.status, refused.error["code"]) == (403, "insufficient_scope")
    assert (wrong.status, wrong.error["param"]) == (400, "inferada.spellcheck.level")


@BOTH
@pytest.mark.parametrize("fault", [KILLED, HANGING])
def test_without_its_engine_no_answer_goes_on(caller: Caller, fault: str, stream: bool) -> None:
    """A stream of which nothing was sent yet is refused as a buffered answer is."""
    answer = corrected(caller, f"A secret answer: {fault}", stream=stream)

    assert (answer.status, answer.error["code"]) == (502, "processor_failure")
    assert b"secret" not in answer.body
    assert corrected(caller, WRONG).text == RIGHT


def test_without_its_engine_a_stream_that_was_kept_open_ends_with_the_error(
    lively_site: Site,
) -> None:
    caller = lively_site.caller(scopes=["completions", "language"])
    said = f"A secret answer: {KILLED}"
    script = urlencode({"text": said, "cut": 5, "tokens": len(said)})

    answer = lively_site.stream_through_silence(caller, script, inferada=spellcheck())

    assert (answer.status, answer.events[-1]) == (200, "[DONE]")
    assert answer.chunks[-1]["error"]["code"] == "processor_failure"
    assert "choices" not in answer.chunks[-1]
    assert b"secret" not in answer.body
