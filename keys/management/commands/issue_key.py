"""issue_key: a new key, and the only time its secret is shown."""

from __future__ import annotations

import re
from argparse import ArgumentParser
from datetime import UTC, datetime, timedelta

from django.db import transaction
from django.utils import timezone

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from accounts.selectors import get_workspace
from keys.management.access_options import (
    ACCESS_FIELDS,
    add_access_options,
    read_access_options,
)
from keys.management.limit_options import add_limit_options, read_limit_options, write_limits
from keys.models import CompatProfile
from keys.prefixes import only_profile_of, prefix_for
from keys.services import issue_key, set_compatibility, set_limits

_SPAN = re.compile(r"([1-9][0-9]{0,4})([hd])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1)}


class Command(JsonCommand):
    help = "Issue a key. Its secret is shown once and not stored."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("workspace", help="Workspace ID, slug or name.")
        parser.add_argument("label", help="Key name.")
        add_access_options(parser)
        parser.add_argument("--scope", action="append", help="Scope. Repeatable.")
        parser.add_argument(
            "--expires", metavar="WHEN", help="Expiry: 30d, 12h or an ISO 8601 time."
        )
        parser.add_argument(
            "--profile",
            choices=CompatProfile.values,
            help="Compatibility profile: the product whose clients use the key.",
        )
        parser.add_argument(
            "--prefix",
            default="",
            help="Start of the secret. Default: the prefix of the profile. Without --profile, the "
            "prefix of a single product sets its profile.",
        )
        parser.add_argument(
            "--fixed-profile",
            action="store_true",
            help="Do not allow requests to choose another profile.",
        )
        parser.add_argument(
            "--allow-chat-template",
            action="store_true",
            help="Allow chat templates in requests. The provider runs them as code.",
        )
        add_limit_options(parser)

    @transaction.atomic
    def answer(
        self,
        *,
        workspace: str,
        label: str,
        scope: list[str] | None,
        expires: str | None,
        allow_any_address: bool,
        profile: str | None,
        prefix: str,
        fixed_profile: bool,
        allow_chat_template: bool,
        **options: object,
    ) -> Answer:
        into = get_workspace(workspace)
        if profile is None:
            profile = only_profile_of(prefix)
        key, secret = issue_key(
            workspace=into,
            prefix=prefix or prefix_for(into, profile),
            label=label,
            scopes=scope,
            **read_access_options(options),
            expires_at=read_moment(expires) if expires else None,
            allow_any_address=allow_any_address,
            actor=ACTOR,
        )
        set_compatibility(
            key,
            compat_profile=profile,
            allows_profile_override=not fixed_profile,
            allows_chat_template=allow_chat_template,
            actor=ACTOR,
        )
        set_limits(key, limits=read_limit_options(key, options), actor=ACTOR)
        return {
            "key_id": str(key.pk),
            "secret": secret,
            "workspace_id": str(key.workspace_id),
            "label": key.label,
            "compat_profile": key.compat_profile,
            "scopes": key.scopes,
            **{name: getattr(key, name) for name in ACCESS_FIELDS},
            "expires_at": key.expires_at.isoformat() if key.expires_at else None,
            **write_limits(key),
        }

    def describe(self, answer: Answer) -> str:
        return "Key {key_id}. Its secret, shown once:\n{secret}".format(**answer)


def read_moment(text: str) -> datetime:
    """Return the moment meant by `30d`, `12h` or ISO 8601, in UTC where no zone is given.

    Raises ValueError with a sentence.
    """
    span = _SPAN.fullmatch(text.strip())
    if span:
        return timezone.now() + int(span[1]) * _UNITS[span[2]]
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise ValueError(
            f"{text[:40]!r} is not a time. Use 30d, 12h or 2030-01-31T12:00:00Z."
        ) from None
    return moment if timezone.is_aware(moment) else moment.replace(tzinfo=UTC)
