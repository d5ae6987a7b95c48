"""POST /language/detect and /language/correct."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.processors.faulty_engines import HANGING, KILLED
from tests.flows.site import Site

PATHS = ("language/detect", "language/correct")
TEXTS = {
    "de": "Wann wird mein Paket morgen geliefert?",
    "en": "When will my parcel be delivered tomorrow?",
    "es": "¿Cuándo llegará mañana mi paquete a la oficina?",
    "fr": "Quand mon colis sera-t-il livré demain matin ?",
    "it": "Quando verrà consegnato il mio pacco domani mattina?",
    "nl": "Wanneer wordt mijn pakket morgen bezorgd bij de buren?",
    "pt": "Quando é que a minha encomenda será entregue amanhã?",
}


@pytest.fixture
def caller(faulty_site: Site) -> Caller:
    return faulty_site.caller(scopes=["language"])


def ask(caller: Caller, path: str, *, mount: str = "/v1", **members: Any) -> Answer:
    return caller.ask(path=f"{mount}/{path}", raw=json.dumps(members).encode())


@pytest.mark.parametrize("mount", ["/v1", "/api/v1", "/openai/v1", "/compat/inferada/v1"])
def test_both_are_under_every_mount(caller: Caller, mount: str) -> None:
    found = ask(caller, "language/detect", mount=mount, text=TEXTS["nl"])
    done = ask(caller, "language/correct", mount=mount, text="A wrong adress.", language="en")

    assert (found.status, found.json["language"]) == (200, "nl")
    assert (done.status, done.json["text"]) == (200, "A wrong address.")


@pytest.mark.parametrize("language", TEXTS)
def test_a_language_is_detected(caller: Caller, language: str) -> None:
    found = ask(caller, "language/detect", text=TEXTS[language]).json

    shares = [one["confidence"] for one in found["candidates"]]
    assert (found["object"], found["language"]) == ("language.detection", language)
    assert found["candidates"][0] == {"language": language, "confidence": found["confidence"]}
    assert shares == sorted(shares, reverse=True)
    assert 0 < len(shares) <= 5
    assert sum(shares) <= 1.0001


def test_where_nothing_is_sure_no_language_is_said(caller: Caller) -> None:
    digits = ask(caller, "language/detect", text="12 + 34 = 46").json
    short = ask(caller, "language/detect", text="ok").json

    assert digits == {
        "object": "language.detection",
        "language": None,
        "confidence": 0.0,
        "candidates": [],
    }
    assert short["language"] is None
    assert short["confidence"] < 0.2


@pytest.mark.parametrize("path", PATHS)
def test_the_longest_text_is_taken_however_it_is_written(caller: Caller, path: str) -> None:
    more = {"language": "en"} if path == "language/correct" else {}

    answer = ask(caller, path, text="😀" * 20_000, **more)

    assert answer.status == 200


def test_corrections_say_what_stood_where(caller: Caller) -> None:
    text = "😀 The adress of the pakage, and `adress`."

    done = ask(caller, "language/correct", text=text, language="en-GB").json

    assert (done["object"], done["language"]) == ("language.correction", "en")
    assert done["text"] == "😀 The address of the package, and `adress`."
    assert [text[one["start"] : one["end"]] for one in done["corrections"]] == ["adress", "pakage"]
    assert [one["word"] for one in done["corrections"]] == ["adress", "pakage"]
    assert [one["replacement"] for one in done["corrections"]] == ["address", "package"]


@pytest.mark.parametrize("language", ["sv", "", "EN", "english", "en\n"])
def test_a_language_without_words_is_refused(caller: Caller, language: str) -> None:
    answer = ask(caller, "language/correct", text="Hej", language=language)

    assert (answer.status, answer.error["code"]) == (422, "language_not_supported")
    assert answer.error["param"] == "language"
    assert answer.error["details"]["supported"] == sorted(TEXTS)


WRONG: list[tuple[dict[str, Any], str | None]] = [
    ({}, "text"),
    ({"text": ""}, "text"),
    ({"text": 7}, "text"),
    ({"text": "x" * 20_001}, "text"),
    ({"text": "x", "txt": "y"}, "txt"),
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(("members", "param"), WRONG)
def test_bad_requests_are_refused(
    caller: Caller, path: str, members: dict[str, Any], param: str | None
) -> None:
    more = {"language": "en"} if path == "language/correct" else {}

    answer = ask(caller, path, **more, **members)

    assert (answer.status, answer.error["param"]) == (400, param)


@pytest.mark.parametrize("path", PATHS)
def test_bodies_that_are_no_json_and_other_methods_are_refused(caller: Caller, path: str) -> None:
    bodies = [b"", b"{", b"[]", b'{"text": "\\ud800", "language": "en"}', b"\xff"]

    statuses = [caller.ask(path=f"/v1/{path}", raw=body).status for body in bodies]
    read = caller.ask(path=f"/v1/{path}", method="GET", raw=b"")
    long = caller.ask(path=f"/v1/{path}", raw=b" " * 300_000)

    assert set(statuses) <= {400}
    assert (read.status, read.headers["allow"]) == (405, "POST, OPTIONS")
    assert long.status == 413


@pytest.mark.parametrize("path", PATHS)
def test_they_need_a_key_with_the_scope(faulty_site: Site, caller: Caller, path: str) -> None:
    other = faulty_site.another_key(caller.workspace_id, scopes=["completions", "pii"])
    body = {"text": "Hello", "language": "en"} if path == "language/correct" else {"text": "Hello"}

    refused, unknown = ask(other, path, **body), ask(caller.with_(secret="wrong"), path, **body)

    assert (refused.status, refused.error["code"]) == (403, "insufficient_scope")
    assert refused.error["details"]["required_scope"] == "language"
    assert unknown.status == 401


@pytest.mark.parametrize("fault", [KILLED, HANGING])
@pytest.mark.parametrize("path", PATHS)
def test_an_engine_that_fails_is_said_to_have_failed(caller: Caller, path: str, fault: str) -> None:
    more = {"language": "en"} if path == "language/correct" else {}

    failed = ask(caller, path, text=f"{fault}, secret", **more)
    after = ask(caller, path, text="Hello there, my friend", **more)

    assert (failed.status, failed.error["code"]) == (502, "processor_failure")
    assert b"secret" not in failed.body
    assert after.status == 200
