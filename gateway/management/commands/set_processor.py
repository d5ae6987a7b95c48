"""set_processor: make a processor mandatory for a workspace or a key, or leave it to callers."""

from __future__ import annotations

import json
from argparse import ArgumentParser

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from accounts.selectors import get_workspace
from gateway.services.mandatory_processors import (
    find_mandatory,
    release_processor,
    require_processor,
)
from keys.selectors import get_key


class Command(JsonCommand):
    help = (
        "Make a processor mandatory for all calls of a workspace, or of a key. Requests can add "
        "others. Changes apply within a second."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("workspace", help="Workspace ID, slug or name.")
        parser.add_argument("processor", help="Name of the processor, such as anonymise.")
        parser.add_argument("--key", help="Key ID (preferred), last 4 characters, or the secret.")
        parser.add_argument(
            "--options", metavar="JSON", help="Its options, as in inferada.<processor>."
        )
        parser.add_argument("--language", default="", help="Language of the texts, such as en.")
        parser.add_argument("--remove", action="store_true", help="Make it optional again.")

    def answer(
        self,
        *,
        workspace: str,
        processor: str,
        key: str | None,
        options: str | None,
        language: str,
        remove: bool,
        **_: object,
    ) -> Answer:
        found = get_workspace(workspace)
        of_key = None if key is None else get_key(key)
        if of_key is not None and of_key.workspace_id != found.pk:
            raise LookupError("The key belongs to another workspace.")
        answer: Answer = {"workspace": found.slug, "processor": processor}
        if of_key is not None:
            answer["key_id"] = str(of_key.pk)
        if remove:
            row = find_mandatory(found, processor, of_key)
            if row is not None:
                release_processor(row, actor=ACTOR)
            return answer | {"mandatory": False, "changed": row is not None}
        changed = require_processor(
            found,
            processor,
            key=of_key,
            options=read_options(options),
            language=language,
            actor=ACTOR,
        )
        return answer | {"mandatory": True, "changed": changed}

    def describe(self, answer: Answer) -> str:
        state = "mandatory" if answer["mandatory"] else "not mandatory"
        whose = "the key" if "key_id" in answer else answer["workspace"]
        return f"{answer['processor']} is {state} for {whose}."


def read_options(text: str | None) -> dict[str, object]:
    """Return the object in JSON. Raises ValueError."""
    try:
        options = json.loads(text or "{}")
    except ValueError:
        options = None
    if not isinstance(options, dict):
        raise ValueError("--options must be a JSON object.")
    return options
