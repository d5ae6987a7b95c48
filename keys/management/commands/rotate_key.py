"""rotate_key: a new secret for a key, and the only time it is shown."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from datetime import timedelta

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from keys.rotation import rotate_key
from keys.selectors import get_key

_SPAN = re.compile(r"(0|[1-9][0-9]{0,2})([hd])")


class Command(JsonCommand):
    help = (
        "Give a key a new secret. The old one works until the overlap ends, under the same limits."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("key", help="Key ID (preferred), last 4 characters, or the secret.")
        parser.add_argument(
            "--overlap",
            default="24h",
            metavar="SPAN",
            help="How long the old secret works: 0h to 7d. Default: 24h.",
        )

    def answer(self, *, key: str, overlap: str, **options: object) -> Answer:
        found = get_key(key)
        rotated = rotate_key(found, overlap=read_overlap(overlap), actor=ACTOR)
        return {
            "key_id": str(found.pk),
            "label": found.label,
            "secret": rotated.secret,
            "old_secrets": [
                {"secret": old.shown, "works_until": old.ends_at.isoformat()}
                for old in rotated.key.old_secrets
            ],
        }

    def describe(self, answer: Answer) -> str:
        return "Key {label} ({key_id}). Its new secret, shown once:\n{secret}".format(**answer)


def read_overlap(text: str) -> timedelta:
    """Return the span meant by `24h` or `7d`. Raises ValueError with a sentence."""
    span = _SPAN.fullmatch(text.strip())
    if span is None:
        raise ValueError(f"{text[:40]!r} is not an overlap. Use 0h, 24h or 7d.")
    return timedelta(hours=int(span[1]) * (24 if span[2] == "d" else 1))
