"""A target that is asked again where TOLLHOUSE_RETRIES wants it, and only what cannot have run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.flows.site import Site, running_site

BOTH = pytest.mark.parametrize("stream", [False, True], ids=["buffered", "streamed"])


@pytest.fixture(scope="module")
def retrying(home_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A gateway that asks up to twice more; lost-model is at nobody's address."""
    home = Path(shutil.copytree(home_template, tmp_path_factory.mktemp("retrying") / "home"))
    with running_site(home, {"TOLLHOUSE_RETRIES": "2"}) as running:
        running.office.do("provider", name="lost", base_url="http://127.0.0.1:1/v1")
        running.add_model("lost-model", provider="lost")
        yield running


@BOTH
@pytest.mark.parametrize("status", [429, 503, 529])
def test_a_target_that_turned_a_call_away_is_asked_again(
    retrying: Site, status: int, stream: bool
) -> None:
    script = f"script:fail={status}&fail_times=2&retry_after=0"

    answer = retrying.caller().ask(script, stream=stream)

    assert (answer.status, len(retrying.tries(answer.call_id))) == (200, 3)
    record = retrying.record(answer.call_id)
    assert [attempt["code"] for attempt in record["attempts"]] == [""]


@BOTH
def test_a_target_is_asked_no_more_than_twice_again(retrying: Site, stream: bool) -> None:
    answer = retrying.caller().ask("script:fail=429", stream=stream)

    assert (answer.status, len(retrying.tries(answer.call_id))) == (429, 3)
    assert retrying.record(answer.call_id)["charge_nusd"] == 0


@pytest.mark.parametrize(
    "script",
    [
        *("fail=429&retry_after=11", "fail=500", "fail=502", "fail=504", "fail=408", "fail=400"),
        *("drop=reset", "drop=close"),
    ],
)
def test_what_may_have_run_or_takes_too_long_is_not_asked_again(
    retrying: Site, script: str
) -> None:
    answer = retrying.caller().ask(f"script:{script}")

    assert answer.status >= 400
    assert len(retrying.tries(answer.call_id)) == 1


@BOTH
def test_another_model_serves_where_asking_again_did_not_help(retrying: Site, stream: bool) -> None:
    answer = retrying.caller().ask(model="lost-model", models=["fake-model"], stream=stream)

    assert answer.headers["x-fallback-from"] == "lost-model"
    assert len(retrying.record(answer.call_id)["attempts"]) == 2


def test_a_caller_who_leaves_meanwhile_is_not_asked_for(retrying: Site) -> None:
    caller = retrying.caller()
    with caller.begin("script:fail=429&retry_after=9") as live:
        retrying.running(caller, count=1)
        live.leave()

    [record] = retrying.records(caller)

    assert (record["status"], record["error_code"]) == ("cancelled", "client_cancelled")
    assert len(retrying.tries(record["id"])) < 3
