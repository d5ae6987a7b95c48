"""What is mandatory for a key, and its workspace's services, are in its record."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from gateway.services.mandatory_processors import require_processor
from gateway.stores.key_records import load_key_records
from tests.factories import ACTOR, make_key, make_mandatory, make_service, make_workspace

pytestmark = pytest.mark.django_db


def test_rules_and_services_come_with_two_queries_more_and_none_without_any() -> None:
    workspace, other = make_workspace(), make_workspace("Other")
    key, second, free = (make_key(one).key for one in (workspace, workspace, other))
    for name, secret in (("names", "token"), ("words", "")):
        make_service(workspace, name=name, credential=secret)
    options = {"entities": ["PERSON"], "service_id": "names"}
    require_processor(workspace, "anonymise", options=options, language="nl", actor=ACTOR)
    make_mandatory(workspace)
    require_processor(workspace, "prompt_shield", options={"threshold": 0.5}, key=key, actor=ACTOR)

    with CaptureQueriesContext(connection) as with_rules:
        records = load_key_records([key.digest, second.digest])
    with CaptureQueriesContext(connection) as without:
        [none] = load_key_records([free.digest])

    assert (len(with_rules), len(without)) == (4, 2)
    own, of_workspace = (record.processors for record in records if record is not None)
    assert own is not None
    assert of_workspace is not None
    assert list(own.required) == ["anonymise", "prompt_shield"]
    assert own.required["anonymise"].options == options
    assert own.required["anonymise"].language == "nl"
    assert own.required["prompt_shield"].options == {"threshold": 0.5}
    assert of_workspace.required["prompt_shield"].options == {}
    assert {name: bool(one.sealed) for name, one in own.services.items()} == {
        "names": True,
        "words": False,
    }
    assert none is not None
    assert none.processors is None
