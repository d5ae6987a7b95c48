"""file_id in calls: in each format of callers, to models of each dialect."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.flows.caller import Answer, Caller
from tests.flows.site import CREDENTIAL, Site
from tests.flows.stored_files.asking import PDF, PNG, SCOPES, delete, uploaded

CLAUDE = "claude-of-files"
OPENAI = "openai-of-files"
# By itself: the upstream reads it off all the texts of the last message.
SCRIPT = {"role": "user", "content": "script:echo"}
STRANGE = "file_000000000000000000000000"


@pytest.fixture(scope="module")
def claude_site(site: Site) -> Site:
    name = "claude-provider-of-files"
    base_url = f"{site.upstream.origin}/anthropic/v1"
    site.office.do(
        "provider", name=name, kind="anthropic", base_url=base_url, credential=CREDENTIAL
    )
    abilities: dict[str, Any] = {"supports_vision": True, "supports_pdf": True}
    site.add_model(
        CLAUDE,
        provider=name,
        native_model="claude-haiku-4-5-20251001",
        max_output_tokens=16_384,
        **abilities,
    )
    site.add_model(OPENAI, **abilities)
    return site


@pytest.fixture
def caller(claude_site: Site) -> Caller:
    return claude_site.caller(scopes=SCOPES)


def chat(caller: Caller, model: str, *blocks: dict[str, Any], **members: Any) -> Answer:
    turns = [{"role": "user", "content": list(blocks)}, SCRIPT]
    return caller.with_(model=model).ask(messages=turns, **members)


def messages(caller: Caller, model: str, *blocks: dict[str, Any], **members: Any) -> Answer:
    turns = [{"role": "user", "content": list(blocks)}, SCRIPT]
    body = {"model": model, "max_tokens": 1000, "messages": turns} | members
    return caller.ask(path="/v1/messages", raw=json.dumps(body).encode())


def responses(caller: Caller, model: str, *parts: dict[str, Any], **members: Any) -> Answer:
    turns = [{"role": "user", "content": list(parts)}, SCRIPT]
    body = {"model": model, "input": turns} | members
    return caller.ask(path="/v1/responses", raw=json.dumps(body).encode())


def reached(site: Site, answer: Answer) -> str:
    """Return what reached the provider, as text."""
    assert answer.status == 200, answer.body
    return answer.body.decode().replace('\\"', '"').replace('\\\\"', '"')


@pytest.mark.parametrize("model", [OPENAI, CLAUDE])
def test_a_stored_file_is_sent_as_its_bytes(claude_site: Site, caller: Caller, model: str) -> None:
    pdf, picture = uploaded(caller), uploaded(caller, PNG, filename="a.png", purpose="vision")
    of_chat = chat(
        caller,
        model,
        {"type": "file", "file": {"file_id": pdf}},
        {"type": "file", "file_id": picture},
    )
    of_messages = messages(
        caller,
        model,
        {"type": "document", "source": {"type": "file", "file_id": pdf}},
        {"type": "image", "source": {"type": "file", "file_id": picture}},
    )
    of_responses = responses(
        caller,
        model,
        {"type": "input_file", "file_id": pdf},
        {"type": "input_image", "file_id": picture},
    )

    for answer in (of_chat, of_messages, of_responses):
        told = reached(claude_site, answer)
        for content in (PDF, PNG):
            assert base64.b64encode(content).decode() in told
        for file_id in (pdf, picture):
            assert file_id not in told


@pytest.mark.parametrize("model", [OPENAI, CLAUDE])
def test_with_the_plugin_pdf_models_get_the_text_of_pdfs(
    claude_site: Site, caller: Caller, model: str
) -> None:
    pdf, data = uploaded(caller), base64.b64encode(PDF).decode()
    inline = {"type": "base64", "media_type": "application/pdf", "data": data}
    url = f"data:application/pdf;base64,{data}"
    input_file = {"type": "input_file", "filename": "b.pdf", "file_data": url}
    plugins = [{"id": "pdf"}]

    of_chat = chat(caller, model, {"type": "file", "file_id": pdf}, plugins=plugins)
    of_messages = messages(
        caller,
        model,
        {"type": "document", "source": {"type": "file", "file_id": pdf}},
        {"type": "document", "source": inline},
        plugins=plugins,
    )
    of_responses = responses(
        caller, model, {"type": "input_file", "file_id": pdf}, input_file, plugins=plugins
    )

    for answer, count in ((of_chat, 1), (of_messages, 2), (of_responses, 2)):
        told = reached(claude_site, answer)
        assert told.count("page 1/1]") == count
        assert data not in told


def test_anthropics_own_format_brings_no_pdf_to_a_model_that_reads_none(
    claude_site: Site, caller: Caller
) -> None:
    abilities: dict[str, Any] = {"supports_vision": False, "supports_pdf": False}
    claude_site.add_model(
        "claude-of-texts",
        provider="claude-provider-of-files",
        native_model="claude-haiku-4-5-20251001",
        max_output_tokens=16_384,
        **abilities,
    )
    data = base64.b64encode(PDF).decode()
    inline = {"type": "base64", "media_type": "application/pdf", "data": data}

    answer = messages(caller, "claude-of-texts", {"type": "document", "source": inline})

    told = reached(claude_site, answer)
    assert ("page 1/1]" in told, data in told) == (True, False)


def test_an_image_is_looked_at_as_closely_as_the_caller_says(caller: Caller) -> None:
    picture = uploaded(caller, PNG, filename="a.png", purpose="vision")

    low = responses(caller, OPENAI, {"type": "input_image", "file_id": picture, "detail": "low"})

    assert '"detail":"low"' in low.body.decode().replace("\\", "").replace('": "', '":"')


def test_texts_and_sounds_are_sent_as_models_take_them(caller: Caller) -> None:
    sound = (
        b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0data\0\0\0\0"
    )
    text = uploaded(caller, b"a,b\n1,2\n", filename="table.csv")
    wav = uploaded(caller, sound, filename="a.wav")

    answer = chat(
        caller,
        OPENAI,
        {"type": "file", "file": {"file_id": text, "filename": "renamed.csv"}},
        {"type": "file", "file": {"file_id": wav}},
    )

    assert answer.status == 200, answer.body
    sent = json.loads(answer.echo["body_text"])["messages"][0]["content"]
    assert sent[0]["file"]["filename"] == "renamed.csv"
    assert sent[0]["file"]["file_data"].startswith("data:text/csv;base64,")
    assert sent[1]["input_audio"]["data"] == base64.b64encode(sound).decode()
    assert sent[1]["input_audio"]["format"] == "wav"


def test_a_file_that_is_not_there_is_named(claude_site: Site, caller: Caller) -> None:
    gone, foreign = uploaded(caller), uploaded(claude_site.caller(scopes=SCOPES))
    expired = uploaded(caller)
    delete(caller, gone)
    claude_site.office.do("expire_file", file_id=expired)

    for file_id in (gone, foreign, expired, STRANGE, "file-abc123", "x" * 500):
        answers = {
            "messages[0].content[0]": chat(caller, OPENAI, {"type": "file", "file_id": file_id}),
            "input[0].content[0]": responses(
                caller, OPENAI, {"type": "input_file", "file_id": file_id}
            ),
        }
        for param, answer in answers.items():
            assert answer.status == 400, file_id
            assert (answer.error["code"], answer.error["param"]) == ("file_not_found", param)
        document = {"type": "document", "source": {"type": "file", "file_id": file_id}}
        refused = messages(caller, CLAUDE, document)
        assert refused.status == 400
        assert "does not exist" in refused.error["message"]


def test_more_than_a_call_may_have_is_refused(caller: Caller) -> None:
    block = {"type": "file", "file_id": uploaded(caller)}

    answer = chat(caller, OPENAI, *[block] * 21)

    assert answer.status == 400
    assert answer.error["param"] == "messages[0].content[20]"
