"""set_workspace: change how the keys of a workspace speak."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from accounts.management.json_command import ACTOR, JsonCommand
from accounts.selectors import get_workspace
from accounts.services import set_profile
from gateway.core.profiles import BY_NAME

INSTALLATION = "installation"


class Command(JsonCommand):
    help = "Change a workspace. Running gateways obey within a second."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("workspace", help="Id, slug or name.")
        parser.add_argument(
            "--profile",
            required=True,
            choices=[*BY_NAME, INSTALLATION],
            help="Whose clients those of its keys serve that do not say.",
        )

    def answer(self, *, workspace: str, profile: str, **options: Any) -> dict[str, Any]:
        found = get_workspace(workspace)
        wanted = "" if profile == INSTALLATION else profile
        changed = set_profile(found, compat_profile=wanted, actor=ACTOR)
        return {
            "changed": changed,
            "workspace_id": str(found.pk),
            "slug": found.slug,
            "compat_profile": found.compat_profile,
        }

    def describe(self, answer: dict[str, Any]) -> str:
        return "Workspace {slug} is {}.".format(
            "changed" if answer["changed"] else "as it was", **answer
        )
