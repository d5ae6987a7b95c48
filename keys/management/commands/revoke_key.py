"""revoke_key: stop a key for good."""

from __future__ import annotations

from argparse import ArgumentParser

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from keys.selectors import get_key
from keys.services import revoke_key


class Command(JsonCommand):
    help = "Revoke a key. Takes effect within a second."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("key", help="Key ID (preferred), last 4 characters, or the secret.")

    def answer(self, *, key: str, **options: object) -> Answer:
        found = get_key(key)
        was_usable = revoke_key(found, actor=ACTOR)
        return {
            "key_id": str(found.pk),
            "label": found.label,
            "changed": was_usable,
            "revoked_at": found.revoked_at.isoformat() if found.revoked_at else None,
        }

    def describe(self, answer: Answer) -> str:
        state = "is revoked" if answer["changed"] else "was already revoked"
        return f"Key {answer['label']} ({answer['key_id']}) {state}."
