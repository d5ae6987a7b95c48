"""set_workspace: change the profile and the limits of a workspace."""

from __future__ import annotations

from argparse import ArgumentParser

from django.db import transaction

from accounts.limits import RANGES
from accounts.management.json_command import ACTOR, Answer, JsonCommand
from accounts.management.limit_options import add_call_limit_options, read_call_limit_options
from accounts.selectors import get_workspace
from accounts.services import set_call_limits, set_profile
from gateway.core.profiles import BY_NAME

INSTALLATION = "installation"


class Command(JsonCommand):
    help = "Change a workspace; other settings stay as they are. Changes apply within a second."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("workspace", help="Workspace ID, slug or name.")
        parser.add_argument(
            "--profile",
            choices=[*BY_NAME, INSTALLATION],
            help="Compatibility profile of keys that have none.",
        )

        add_call_limit_options(parser)

    @transaction.atomic
    def answer(self, *, workspace: str, profile: str | None, **options: object) -> Answer:
        found = get_workspace(workspace)
        named = read_call_limit_options(options)
        if profile is None and not named:
            raise ValueError("Specify what to change: a profile or a limit.")
        limits = {name: getattr(found, name) for name in RANGES} | named
        changed = set_call_limits(found, actor=ACTOR, **limits)
        if profile is not None:
            wanted = "" if profile == INSTALLATION else profile
            changed |= set_profile(found, compat_profile=wanted, actor=ACTOR)
        return {
            "changed": changed,
            "workspace_id": str(found.pk),
            "slug": found.slug,
            "compat_profile": found.compat_profile,
            **{name: getattr(found, name) for name in RANGES},
        }

    def describe(self, answer: Answer) -> str:
        return "Workspace {slug} is {}.".format(
            "changed" if answer["changed"] else "as it was", **answer
        )
