"""Keys of any form open every mount, whoever issued them."""

from __future__ import annotations

import json
import secrets
from pathlib import Path
from typing import Any

import pytest

from gateway.core.mounts import MOUNTS
from gateway.core.profiles import ALL, KEY_PREFIXES
from keys.secret import digest_secret
from tests.flows.caller import Caller
from tests.flows.site import Site
from tests.support.waiting import wait_until

PATHS = [f"{mount}/chat/completions" for mount in MOUNTS]
PATHS += [f"/compat/{profile.name}/v1/chat/completions" for profile in ALL]
FORMS: dict[str, str] = {
    "OpenAI": f"sk-proj-{secrets.token_urlsafe(48)}",
    "rpk": f"rpk_{secrets.token_hex(16)}",
    "hex": secrets.token_hex(16),
    "base64": "Vq8LrT2mXz+cN/5yKdPw0sHb3Ge=",
    "signs": "~K{9}'\"<&>;%7$vQ!x(Zt)w*R,m?/",
}


def carriers(secret: str) -> list[dict[str, str]]:
    return [
        {"authorization": f"Bearer {secret}"},
        {"authorization": secret},
        {"authorization": "", "x-api-key": secret},
    ]


def import_file(site: Site, folder: Path, caller: Caller, text: str, *more: str) -> dict[str, Any]:
    file = folder / "keys.csv"
    file.write_text(text)
    return site.gateway.manage("import_keys", str(file), "--workspace", caller.workspace_id, *more)


@pytest.mark.parametrize("prefix", KEY_PREFIXES)
def test_a_key_of_each_product_opens_every_mount_however_it_is_shown(
    site: Site, caller: Caller, prefix: str
) -> None:
    made = site.another_key(caller.workspace_id, prefix=prefix)

    statuses = {
        (path, number): made.ask(path=path, headers=headers, stream=False).status
        for path in PATHS
        for number, headers in enumerate(carriers(made.secret))
    }

    assert made.secret.startswith(prefix)
    assert set(statuses.values()) == {200}


def test_the_command_makes_a_key_that_begins_as_its_profile_s_do(
    site: Site, caller: Caller
) -> None:
    by_profile = site.gateway.manage(
        "issue_key", caller.workspace_id, "By profile", "--profile", "bud"
    )
    by_prefix = site.gateway.manage(
        "issue_key", caller.workspace_id, "By prefix", "--prefix", "hi-"
    )

    answer = caller.with_(secret=by_prefix["secret"]).ask()

    assert by_profile["secret"].startswith("bud_client_")
    assert (by_prefix["secret"][:3], by_prefix["compat_profile"]) == ("hi-", "hyperinfer")
    assert answer.json["id"].startswith("gen-")


@pytest.mark.parametrize("column", ["secret", "sha256"])
def test_programs_go_on_with_keys_issued_elsewhere(
    site: Site, caller: Caller, tmp_path: Path, column: str
) -> None:
    """Also those that had been refused before: that they are unknown is remembered."""
    forms = {name: f"{column[:2]}{text}" for name, text in FORMS.items()}
    programs = [caller.with_(secret=secret) for secret in forms.values()]
    before = {program.ask().status for program in programs}
    cells = [digest_secret(s) if column == "sha256" else s for s in forms.values()]
    text = f"{column}\n" + "".join('"' + cell.replace('"', '""') + '"\n' for cell in cells)

    tried = import_file(site, tmp_path, caller, text, "--dry-run")
    done = import_file(site, tmp_path, caller, text)
    again = import_file(site, tmp_path, caller, text)

    wait_until(
        lambda: {program.ask().status for program in programs} == {200}, what="the keys to be good"
    )
    shown = {
        program.ask(headers=headers).status
        for program in programs
        for headers in carriers(program.secret)
    }
    assert before == {401}
    assert (tried["would_import"], tried["imported"]) == (len(forms), 0)
    assert (done["imported"], again["imported"], again["already_here"]) == (5, 0, 5)
    assert shown == {200}
    assert not any(secret in json.dumps([tried, done]) for secret in forms.values())


def test_limits_and_expiry_of_imported_keys_hold(
    site: Site, caller: Caller, tmp_path: Path
) -> None:
    narrow, free = f"rpk_{secrets.token_hex(16)}", f"rpk_{secrets.token_hex(16)}"
    text = f"secret,models,ips\n{narrow},small-model,\n{free},,127.0.0.0/8;::1\n"

    import_file(site, tmp_path, caller, text)

    wait_until(lambda: caller.with_(secret=free).ask().status == 200, what="the import to be known")
    assert caller.with_(secret=narrow).ask().error["code"] == "model_not_allowed"
    assert caller.with_(secret=narrow, model="small-model").ask().status == 200
    assert site.gateway.manage("revoke_key", narrow)["changed"]


def test_one_bad_line_imports_nothing(site: Site, caller: Caller, tmp_path: Path) -> None:
    good = f"rpk_{secrets.token_hex(16)}"

    with pytest.raises(AssertionError, match="line 3, secret: This key could be guessed") as said:
        import_file(site, tmp_path, caller, f"secret\n{good}\nsk-1234\n")

    assert caller.with_(secret=good).ask().status == 401
    assert good not in str(said.value)
    assert good not in site.gateway.log.read_text(errors="replace")
