"""backtest_rules: what it takes, what it answers, and what it cannot take."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import Workspace
from gateway.models import CallRecord
from keys.models import ApiKey, LimitRule
from tests.factories import make_key, make_member, make_model, make_workspace
from tests.gateway.backtest.records import make_record, refused_record

pytestmark = pytest.mark.django_db
HOURLY = "--metric requests --maximum 2 --period hour"


@pytest.fixture
def workspace() -> Workspace:
    return make_workspace()


@pytest.fixture
def key(workspace: Workspace) -> ApiKey:
    return make_key(workspace, label="First").key


@pytest.fixture
def start() -> datetime:
    """When the first call is made: a day ago."""
    return timezone.now() - timedelta(days=1)


def written(name: str, *arguments: str) -> str:
    out = StringIO()
    call_command(name, *arguments, stdout=out)
    return out.getvalue()


def command(name: str, *arguments: str) -> Any:
    return json.loads(written(name, *arguments, "--json"))


def backtest(*arguments: str) -> Any:
    return command("backtest_rules", *arguments)


def record(*records: CallRecord) -> list[str]:
    CallRecord.objects.bulk_create(records)
    return [str(one.id) for one in records]


def calls_of(key: ApiKey, start: datetime, number: int, **fields: Any) -> list[str]:
    """Record so many calls of a key, one a minute."""
    minute = timedelta(minutes=1)
    return record(*(make_record(key, start + place * minute, **fields) for place in range(number)))


def test_the_limits_of_a_file_that_lists_limits(
    key: ApiKey, start: datetime, tmp_path: Path
) -> None:
    workspace = key.workspace
    command("set_limit_rule", "--workspace", workspace.slug, "--each-key", *HOURLY.split())
    file = tmp_path / "rules.json"
    file.write_text(written("list_limit_rules", "--workspace", workspace.slug, "--json"))
    LimitRule.objects.all().delete()
    made = calls_of(key, start, 5)
    calls_of(make_key(workspace).key, start, 2)

    answer = backtest(str(file), "--list")
    shown = written("backtest_rules", str(file), "--list")

    assert (answer["calls"], answer["refused"]) == (7, 3)
    [rule] = answer["rules"]
    assert (rule["level"], rule["metric"], rule["period"]) == ("key", "requests", "hour")
    assert datetime.fromisoformat(rule["first"]) == start + timedelta(minutes=2)
    assert datetime.fromisoformat(rule["last"]) == start + timedelta(minutes=4)
    assert [call["id"] for call in answer["refused_calls"]] == made[2:]
    assert rule["keys"] == [{"key_id": str(key.pk), "label": str(key), "refused": 3}]
    assert ": 7. Refused: 3 (42.9 %)." in shown
    assert "Each key  2 requests per hour (Rolling window)  3" in shown
    assert f"{made[4]}  Each key: 2 requests per hour" in shown
    assert "its caller does not try again" in shown
    assert LimitRule.objects.count() == 0


def test_the_limits_that_are_set_with_changes(key: ApiKey, start: datetime) -> None:
    workspace = key.workspace
    for_workspace = ("--workspace", workspace.slug)
    kept = command("set_limit_rule", *for_workspace, *HOURLY.split())["rule_id"]
    strict = command("set_limit_rule", "--key", str(key.pk), *HOURLY.split())["rule_id"]
    calls_of(key, start, 5)

    as_set = backtest("--current")
    tighter = backtest("--current", "--remove", strict, "--set", f"--rule {kept} --maximum 1")
    more = backtest(
        "--current", "--set", f"--key {key.pk} --metric requests --maximum 1 --period day"
    )

    assert [rule["refused"] for rule in as_set["rules"]] == [3, 0]
    assert [(rule["rule_id"], rule["refused"]) for rule in tighter["rules"]] == [(kept, 4)]
    assert [rule["refused"] for rule in more["rules"]] == [0, 0, 4]
    assert LimitRule.objects.get(pk=kept).maximum == 2


def test_only_calls_of_the_period_and_the_scope_are_reported(key: ApiKey, start: datetime) -> None:
    other = make_key(key.workspace).key
    stranger = make_key(make_workspace("Other")).key
    calls_of(key, start - timedelta(days=9), 5)
    calls_of(other, start, 2)
    calls_of(stranger, start, 3)
    calls_of(key, start + timedelta(minutes=10), 2)
    all_together = ("--set", f"--installation {HOURLY}")
    of_workspace = ("--set", f"--workspace {key.workspace.slug} {HOURLY}")

    assert backtest(*all_together)["refused"] == 5
    assert backtest(*all_together, "--days", "30")["calls"] == 12
    one_key = backtest(*all_together, "--key", str(key.pk))
    assert (one_key["calls"], one_key["refused"]) == (2, 2)
    assert backtest(*of_workspace, "--key", str(key.pk))["refused"] == 2
    assert backtest(*of_workspace, "--key", str(other.pk))["refused"] == 0
    assert backtest(*of_workspace, "--workspace", key.workspace.slug)["calls"] == 4


def test_only_the_newest_calls_are_read(key: ApiKey, start: datetime) -> None:
    made = calls_of(key, start, 6)
    proposed = ("--set", f"--key {key.pk} {HOURLY}", "--list", "--latest")

    answer, whole = backtest(*proposed, "4"), backtest(*proposed, "6")

    assert (answer["calls"], answer["is_shortened"]) == (4, True)
    assert [call["id"] for call in answer["refused_calls"]] == made[4:]
    assert (whole["calls"], whole["is_shortened"]) == (6, False)
    assert "Only the newest calls were read" in written("backtest_rules", *proposed, "4")


def test_calls_that_were_refused_at_the_time(key: ApiKey, start: datetime) -> None:
    second = timedelta(seconds=1)
    counted = refused_record(key, start + 3 * second)
    counted.counted_calls = 5
    poor = refused_record(key, start + 2 * second)
    poor.refusal = {"step": "money"}
    many_tokens = refused_record(key, start + 4 * second, "limits", "tokens", 900)
    record(make_record(key, start), poor, counted, many_tokens)

    requests = backtest("--set", f"--key {key.pk} --metric requests --maximum 3 --period hour")
    tokens = backtest("--set", f"--key {key.pk} --metric tokens --maximum 500 --period hour")
    slots = backtest("--set", f"--key {key.pk} --metric concurrent_requests --maximum 1")

    assert (requests["calls"], requests["refused"]) == (7, 4)
    assert requests["refused_otherwise"] == 1
    assert tokens["refused"] == 1
    assert (slots["refused"], slots["queued"]) == (0, 0)


def test_caps_slots_and_limits_of_a_member(key: ApiKey, start: datetime) -> None:
    workspace = key.workspace
    member = make_member(workspace)
    own = make_key(workspace, created_by=member).key
    record(
        make_record(own, start, prompt_tokens=90, completion_tokens=20, charge_nusd=5_000),
        make_record(own, start + timedelta(milliseconds=500), charge_nusd=9_000),
        make_record(key, start + timedelta(milliseconds=600)),
    )
    tried = {
        "110 tokens": f"--workspace {workspace.slug} --metric tokens --maximum 109 --per-request",
        "cost": "--installation --metric cost --maximum 0.000008 --per-request",
        "each member": f"--workspace {workspace.slug} --each-member --metric requests"
        " --maximum 1 --period minute",
        "member": f"--workspace {workspace.slug} --member {member.email} --metric cost"
        " --maximum 0.000005 --period day",
    }
    found = {name: backtest("--set", rule)["refused"] for name, rule in tried.items()}
    slots = backtest("--set", "--installation --metric concurrent_requests --maximum 1")

    assert found == {"110 tokens": 1, "cost": 1, "each member": 1, "member": 0}
    assert (slots["refused"], slots["queued"]) == (0, 2)
    assert slots["longest_wait_s"] == pytest.approx(1.4, abs=0.01)


def test_a_full_queue_refuses(key: ApiKey, start: datetime, settings: Any) -> None:
    settings.MAX_QUEUE, settings.QUEUE_TIMEOUT_S = 1, 2.0
    half = timedelta(milliseconds=500)
    # The first runs for a minute: the second waits in vain, the third finds the queue full.
    made = record(
        make_record(key, start, total_us=60_000_000),
        *(make_record(key, start + place * half) for place in (1, 2)),
        make_record(key, start + timedelta(minutes=2)),
    )

    answer = backtest("--list", "--set", "--installation --metric concurrent_requests --maximum 1")

    assert sorted(call["id"] for call in answer["refused_calls"]) == made[1:3]


def test_limits_of_models_and_for_some_models(key: ApiKey, start: datetime) -> None:
    make_model("gpt-x")
    calls_of(key, start, 3, model="gpt-x", requested_model="alias")
    calls_of(key, start, 3, model="backup", fallback_from="gpt-x")
    calls_of(key, start, 3)

    assert backtest("--set", f"--model gpt-x {HOURLY}")["refused"] == 4
    assert backtest("--set", f"--installation --only-model gpt-* {HOURLY}")["refused"] == 4


INSTALLATION = {"level": "installation"}
HUNDRED = INSTALLATION | {"metric": "requests", "maximum": 100}
BAD_FILES = [
    ('{"limits": [\n  {"level": }\n]}', "line 2, column 13: Expecting value."),
    ("[" * 100_000, "rules.json: "),
    ("9" * 5_000, "rules.json: "),
    ("3", "A list of limits is expected"),
    ("[3]", "limit 1: An object is expected."),
]
BAD_LIMITS: list[tuple[dict[str, Any], str]] = [
    ({"level": "team"}, "level: Choose a level: installation, model"),
    (INSTALLATION | {"model": "x"}, "model: A limit of the level installation has none."),
    (INSTALLATION | {"only_models": [1]}, "only_models: Enter a list of model names."),
    ({"level": "model", "model": "none"}, "model: The model 'none' does not exist."),
    ({"level": "workspace"}, "workspace_id: Enter the ID, slug or name of the workspace."),
    ({"level": "key", "key_id": "nope"}, "key_id: "),
    (HUNDRED, "period: Choose a period"),
    (HUNDRED | {"maximum": "3"}, "maximum: Enter a whole number."),
    (HUNDRED | {"maximum": True}, "maximum: Enter a whole number."),
    (HUNDRED | {"maximum": 0, "period": "hour"}, "maximum: Enter a whole number of requests"),
    (HUNDRED | {"maximum": None, "maximum_usd": "3"}, "maximum_usd: Only cost has it."),
    (HUNDRED | {"rule_id": "7", "period": "hour"}, "rule_id: '7' is not an ID."),
    (HUNDRED | {"label": "\0"}, "label: The text contains a null character."),
]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *BAD_FILES,
        *(
            (json.dumps([HUNDRED | {"period": "day"}, bad]), f"limit 2, {said}")
            for bad, said in BAD_LIMITS
        ),
        (json.dumps([{"max": 3}]), "limit 1: There is no field 'max'."),
    ],
)
def test_a_bad_file_is_refused_by_its_place(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "rules.json"
    file.write_text(text)

    with pytest.raises(CommandError) as error:
        written("backtest_rules", str(file))

    assert said in str(error.value)
    assert "rules.json" in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Specify the limits to try"),
        (["--current", "--days", "0"], "--days: Enter a whole number from 1 to 3,660."),
        (["--current", "--days", "99999999999"], "--days: Enter a whole number"),
        (["--current", "--latest", "x"], "--latest: Enter a whole number"),
        (["/no/such/file.json"], "/no/such/file.json cannot be read"),
        (["--current", "--remove", "x"], "The limit 'x' is not in the proposed set."),
        (["--set", "--installation --metric speed"], "invalid choice: 'speed'"),
        (["--set", "--metric requests"], "Specify what the limit is for"),
        (["--set", "'"], "No closing quotation"),
        (["--set", "--installation --metric requests --period hour"], "maximum: Enter a whole"),
        (["--set", "--rule 1 --maximum 3"], "The limit '1' is not in the proposed set."),
        (["--current", "--workspace", "nowhere"], "nowhere"),
    ],
)
def test_arguments_that_cannot_be_taken(arguments: list[str], said: str) -> None:
    with pytest.raises(CommandError) as error:
        written("backtest_rules", *arguments)

    assert said in str(error.value)


def test_a_file_that_names_a_limit_twice(workspace: Workspace, tmp_path: Path) -> None:
    added = command("set_limit_rule", "--workspace", workspace.slug, *HOURLY.split())
    file = tmp_path / "rules.json"
    file.write_text(json.dumps([added, added]))

    with pytest.raises(CommandError, match="limit 2, rule_id: Limit 1 has the same"):
        written("backtest_rules", str(file))

    file.write_text(json.dumps(added | {"maximum": 7}))
    [rule] = backtest("--current", str(file))["rules"]
    assert (rule["rule_id"], rule["maximum"]) == (added["rule_id"], 7)
