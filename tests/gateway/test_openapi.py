"""The OpenAPI document against what it is of: every endpoint, field and error code is in it, and
nothing comes over the wire that is not."""

from __future__ import annotations

import copy
import inspect
import json
import re
import urllib.request
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from django.urls.resolvers import RoutePattern
from msgspec import inspect as types

from gateway.api.openapi import RESPONSES, document
from gateway.api.urls import urlpatterns
from gateway.api.views import KeyView, unknown_path
from gateway.asgi import routes
from gateway.consumers import CallConsumer
from gateway.core.error_page import FAMILIES, every_class
from gateway.core.errors import CallerGone
from gateway.endpoints.chat_completions.schema import KNOWN
from gateway.endpoints.registry import ENDPOINTS, call_paths, make_endpoints, make_token_counters
from gateway.endpoints.rules import USUAL
from tests.flows.caller import DONE, Answer, Caller
from tests.support.servers import GatewayServer
from tests.support.waiting import wait_until

# The document has the first path of each endpoint.
CALLS = {f"/{one.paths[0]}" for one in ENDPOINTS}
OTHER_PATHS = {f"/{path}" for path in call_paths()} - CALLS
Document = dict[str, Any]
# An endpoint by method and path, a field by schema and name, or a code by path, status and code;
# its kind goes first.
Item = tuple[str, ...]
READERS_CODES = (
    *("invalid_request", "invalid_host", "invalid_api_key", "insufficient_scope", "not_found"),
    *("ip_not_allowed", "method_not_allowed", "request_timeout", "uri_too_long", "internal_error"),
    *("headers_too_large", "expectation_failed", "rate_limit_exceeded", "database_unavailable"),
)


def endpoints() -> Iterator[Item]:
    """Yield what is mounted: the consumers of gateway.asgi, the views of gateway.api.urls."""
    for route in routes:
        path = str(route.pattern).rpartition("v1")[2].strip(")$")
        if isinstance(route.callback, CallConsumer) and path not in OTHER_PATHS:
            yield "endpoint", "post", path
    yield "endpoint", "post", "/files"  # gateway.api.uploads, in front of Django
    for route in urlpatterns:
        if inspect.unwrap(route.callback) is unknown_path:
            continue
        assert isinstance(route.pattern, RoutePattern)
        path = "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", str(route.pattern))
        view = getattr(route.callback, "view_class", None)
        assert view is None or issubclass(view, KeyView)
        methods = ("get", "post", "put", "patch", "delete")
        for method in (m for m in methods if hasattr(view, m)) if view else ("get",):
            yield "endpoint", method, path


def fields() -> Iterator[Item]:
    """Yield every member of the request and of the answers, however deep."""
    described = [
        endpoint.describe() for endpoint in (*make_endpoints(USUAL), *make_token_counters(USUAL))
    ]
    structs = [*(one for each in described for one in each.types), *RESPONSES]
    pending: list[Any] = [types.type_info(struct) for struct in structs]
    seen = set()
    while pending:
        found = pending.pop()
        if isinstance(found, types.StructType) and found.cls not in seen:
            seen.add(found.cls)
            if found.tag_field:
                yield "field", found.cls.__name__, found.tag_field
            yield from (("field", found.cls.__name__, part.encode_name) for part in found.fields)
            pending += [part.type for part in found.fields]
        elif isinstance(found, types.UnionType):
            pending += found.types
        elif isinstance(found, types.ListType):
            pending.append(found.item_type)
    yield from (("field", "ChatCompletionRequest", name) for name in KNOWN)


def codes() -> Iterator[Item]:
    """Yield every way to fail that a caller is told of: all of them for calls to models."""
    paths = {path for _, _, path in endpoints()}
    for error in every_class():
        if error in FAMILIES or issubclass(error, CallerGone):
            continue
        told = paths if error.code in READERS_CODES else CALLS
        yield from (("code", path, str(error.status), error.code) for path in told)


EXPECTED = sorted({*endpoints(), *fields(), *codes()})


def missing(made: Document) -> list[Item]:
    """Return what is expected and is not in the document."""
    return [item for item in EXPECTED if not has(made, item)]


def has(made: Document, item: Item) -> bool:
    kind, *names = item
    if kind == "endpoint":
        method, path = names
        return method in made["paths"].get(path, {})
    if kind == "field":
        schema, name = names
        return name in made["components"]["schemas"].get(schema, {}).get("properties", {})
    path, status, code = names
    operations = made["paths"].get(path, {}).values()
    told = [o["responses"].get(status, {}).get("description", "") for o in operations]
    return bool(told) and all(f"`{code}`" in text for text in told)


def without(made: Document, item: Item) -> Document:
    """Return the document as it would be if somebody had forgotten this."""
    made = copy.deepcopy(made)
    kind, *names = item
    if kind == "endpoint":
        del made["paths"][names[1]][names[0]]
    elif kind == "field":
        del made["components"]["schemas"][names[0]]["properties"][names[1]]
    else:
        path, status, code = names
        for operation in made["paths"][path].values():
            response = operation["responses"][status]
            response["description"] = response["description"].replace(f"`{code}`", "")
    return made


@pytest.fixture(scope="module")
def served(shared_gateway: GatewayServer) -> Document:
    with urllib.request.urlopen(f"{shared_gateway.base_url}/openapi.json", timeout=60) as answer:
        found: Document = json.load(answer)
    return found


def test_nothing_is_missing_from_the_document(served: Document) -> None:
    assert len(EXPECTED) > 200
    assert missing(served) == []


def test_no_two_types_in_the_document_have_one_name(served: Document) -> None:
    assert [name for name in served["components"]["schemas"] if "." in name] == []


def test_there_is_nothing_more_in_the_document(served: Document) -> None:
    written = {(m, path) for path, operations in served["paths"].items() for m in operations}

    assert written == {(method, path) for _, method, path in endpoints()}


@pytest.mark.parametrize("item", EXPECTED, ids=" ".join)
def test_what_is_forgotten_is_missed(item: Item) -> None:
    made = msgspec.to_builtins(document())

    found = missing(without(made, item))

    assert item in found
    # Without its endpoint a code has nowhere to be; nothing else is missed for it.
    assert all(other == item or item[0] == "endpoint" for other in found)


def test_a_key_is_asked_for_where_one_is_needed(served: Document, caller: Caller) -> None:
    nobody = caller.with_(secret="sk-gw-nobody")

    for _, method, path in endpoints():
        asked = served["paths"][path][method].get("security", served["security"])
        answer = nobody.ask(method=method.upper(), path=f"/v1{path}", raw=b"")
        assert (answer.status == 401) == bool(asked), path


def unlisted(value: Any, schema: Document, served: Document, path: str = "") -> Iterator[str]:
    """Yield the members of an answer that its schema does not know."""
    if "$ref" in schema:
        schema = served["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    choices = schema.get("anyOf", [schema])
    if isinstance(value, list):
        items: Document = next((c["items"] for c in choices if "items" in c), {})
        for part in value:
            yield from unlisted(part, items, served, f"{path}[]")
    elif isinstance(value, dict):
        known = [c for c in choices if "$ref" in c or "properties" in c]
        if not known:
            return  # an object that anything may be in
        if "$ref" in known[0]:
            yield from unlisted(value, known[0], served, path)
            return
        for name, part in value.items():
            if name not in known[0]["properties"]:
                yield f"{path}.{name}"
            else:
                yield from unlisted(part, known[0]["properties"][name], served, f"{path}.{name}")


@pytest.fixture(scope="module")
def caller(shared_gateway: GatewayServer) -> Caller:
    return Caller(shared_gateway.port, shared_gateway.key, "", "")


TOOL = {"type": "function", "function": {"name": "look", "parameters": {}}}
WISHES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("hi", {}),
    ("script:reasoning=3", {}),
    ("script:tools=2", {"tools": [TOOL]}),
    ("script:tokens=2", {"logprobs": True, "top_logprobs": 1}),
    ("script:error_after=2&delay_ms=5", {}),
    ("script:finish=length", {"stream_options": {"include_usage": True}, "n": 2}),
)


def assert_listed(served: Document, name: str, answer: Answer) -> None:
    schema = {"$ref": f"#/components/schemas/{name}"}
    streamed = answer.headers["content-type"].startswith("text/event-stream")
    values = [e for e in answer.events if e != DONE] if streamed else [answer.json]
    failure = {"$ref": "#/components/schemas/ErrorResponse"}
    found = {
        part
        for value in values
        for part in unlisted(value, failure if streamed and "error" in value else schema, served)
    }
    assert values
    assert found == set()


@pytest.mark.parametrize(("prompt", "members"), WISHES, ids=[prompt for prompt, _ in WISHES])
def test_what_calls_are_answered_is_in_the_document(
    served: Document, caller: Caller, prompt: str, members: dict[str, Any]
) -> None:
    buffered, streamed = caller.ask(prompt, **members), caller.stream(prompt, **members)

    assert_listed(served, "ChatCompletion" if buffered.status == 200 else "ErrorResponse", buffered)
    assert_listed(served, "ChatCompletionChunk", streamed)


@pytest.mark.parametrize("form", ["float", "base64", "int8"])
def test_what_is_answered_to_embeddings_is_in_the_document(
    served: Document, caller: Caller, form: str
) -> None:
    body = {"model": caller.model, "input": ["a", "b"], "encoding_format": form}

    answer = caller.ask(path="/v1/embeddings", raw=json.dumps(body).encode())

    name = "ErrorResponse" if form == "int8" else "EmbeddingsResponse"
    assert_listed(served, name, answer)


def test_what_readers_are_answered_is_in_the_document(served: Document, caller: Caller) -> None:
    call_id = caller.ask().call_id
    wait_until(
        lambda: (
            caller.ask(method="GET", path=f"/v1/generation?id={call_id}", raw=b"").status == 200
        ),
        what="the record",
    )
    paths = {
        "models": "ModelList",
        "models?limit=1": "ModelList",
        "models/fake-model": "Model",
        f"generation?id={call_id}": "GenerationResponse",
        "processors": "ProcessorList",
        "key": "KeyResponse",
        "usage?group_by=model,key,day,member": "UsageResponse",
        "health": "Health",
        "status": "Status",
        "models/none": "ErrorResponse",
        "generation": "ErrorResponse",
        "nothing": "ErrorResponse",
    }

    for path, shape in paths.items():
        answer = caller.ask(method="GET", path=f"/v1/{path}", raw=b"")
        assert_listed(served, shape, answer)


@pytest.fixture(scope="module")
def language_caller(shared_gateway: GatewayServer) -> Caller:
    issued = shared_gateway.manage(
        "issue_key", "Demo", "A key", "--scope", "language", "--scope", "pii", "--json"
    )
    return Caller(shared_gateway.port, issued["secret"], "", "")


@pytest.mark.parametrize(
    ("path", "members", "shape"),
    [
        ("language/detect", {"text": "Good morning to you all"}, "DetectedLanguage"),
        ("language/detect", {"text": ""}, "ErrorResponse"),
        ("language/correct", {"text": "A wrong adress", "language": "en"}, "CorrectedText"),
        ("language/correct", {"text": "Hej", "language": "sv"}, "ErrorResponse"),
        ("pii/analyse", {"text": "Mail ann@example.com"}, "AnalysedText"),
        ("pii/redact", {"text": "Mail ann@example.com", "language": "en"}, "RedactedText"),
        ("pii/redact", {"text": "Hej", "language": "sv"}, "ErrorResponse"),
        ("pii/restore", {"text": "<PERSON_1>", "mapping": {"<PERSON_1>": "A"}}, "RestoredText"),
    ],
)
def test_what_is_answered_of_texts_is_in_the_document(
    served: Document, language_caller: Caller, path: str, members: dict[str, Any], shape: str
) -> None:
    answer = language_caller.ask(path=f"/v1/{path}", raw=json.dumps(members).encode())

    assert_listed(served, shape, answer)
    said = served["paths"][f"/{path}"]["post"]
    assert str(answer.status) in said["responses"]
    assert said["security"] == [{"key": [path.partition("/")[0]]}]


def test_a_member_that_is_not_listed_is_seen(served: Document) -> None:
    answer = {"id": "x", "choices": [{"message": {"role": "assistant", "mood": "good"}}], "more": 1}

    found = set(unlisted(answer, {"$ref": "#/components/schemas/ChatCompletion"}, served))

    assert found == {".more", ".choices[].message.mood"}
