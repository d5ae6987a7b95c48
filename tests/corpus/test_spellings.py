"""Addresses that are the API's only for who decodes, folds or resolves them, and texts that are
not in UTF-8."""

from __future__ import annotations

import pytest

from tests.corpus.oracle import Witness, assert_refused
from tests.corpus.wire import request, talk, with_key
from tests.flows.caller import Caller
from tests.flows.site import Site

OTHERS = (
    *("/%76%31/chat/completions", "//v1/chat/completions", "/v%31/chat/completions"),
    *("/v1/chat/%63ompletions", "/v1//chat/completions", "/v1%2fchat/completions"),
    *("/./v1/chat/completions", "/x/../v1/chat/completions", "/x/%2e%2e/v1/chat/completions"),
    *("/api//v1/chat/completions", "/%61pi/v1/chat/completions", "///api/v1/chat/completions"),
    *("/openai//v1/chat/completions", "/openai/%76%31/chat/completions"),
    *("/compat//bud/v1/chat/completions", "/compat/b%75d/v1/chat/completions"),
    *("/compat/bud/%76%31/chat/completions", "/v1/chat/completions/.", "/v1/./chat/completions"),
)
READ = (
    *("/%76%31/models", "//v1/models", "/v1/%6dodels", "/v1//models", "/v1%2fmodels", "//v1"),
    *("/v1/%6dodels/fake-model", "/v1//models/fake-model", "/v1/%75sage", "/v1/generatio%6e?id=x"),
    *("/%76%31/health", "//api/v1/health", "/v1/./health", "/%76%31", "/%61pi/v1/"),
)


@pytest.mark.parametrize("path", OTHERS)
def test_a_call_goes_to_one_address_alone(
    site: Site, abused: Caller, witness: Witness, path: str
) -> None:
    raw = with_key(request(line=f"POST {path} HTTP/1.1"), abused.secret)

    assert_refused(talk(site.gateway.port, raw, answers=1).answer, 404, "not_found")


@pytest.mark.parametrize("path", READ)
def test_what_is_read_has_one_address_alone(
    site: Site, abused: Caller, witness: Witness, path: str
) -> None:
    raw = with_key(request(line=f"GET {path} HTTP/1.1", body=b""), abused.secret)

    assert_refused(talk(site.gateway.port, raw, answers=1).answer, 404, "not_found")


def test_the_name_of_a_model_may_be_escaped(site: Site, healthy: Caller, witness: Witness) -> None:
    for name in ("fake-model", "f%61ke-model", "fake%2Dmodel"):
        raw = request(line=f"GET /v1/models/{name} HTTP/1.1", body=b"")
        answer = talk(site.gateway.port, with_key(raw, healthy.secret), answers=1).answer
        assert (answer.status, answer.json["id"]) == (200, "fake-model")


CHARSETS = ("latin-1", "utf-16", '"ISO-8859-1"', "utf-8x", "", "UTF-7", "utf-32le", "windows-1252")


@pytest.mark.parametrize("charset", CHARSETS)
def test_a_body_in_another_charset_is_not_read(
    site: Site, abused: Caller, witness: Witness, charset: str
) -> None:
    raw = request(f"Content-Type: application/json; a=b; Charset={charset}")

    answer = talk(site.gateway.port, with_key(raw, abused.secret), answers=1).answer

    assert_refused(answer, 415, "unsupported_media_type")
    assert answer.error["param"] == "Content-Type"


@pytest.mark.parametrize("charset", ["utf-8", "UTF-8", '"utf-8"', "Utf8", "us-ascii"])
def test_utf_8_has_several_names(
    site: Site, healthy: Caller, witness: Witness, charset: str
) -> None:
    raw = request(f"Content-Type: application/json ; charset={charset}")
    witness.expected_calls = 1

    assert talk(site.gateway.port, with_key(raw, healthy.secret), answers=1).answer.status == 200
