"""remove_member: end a membership; its keys are revoked, or left to the workspace."""

from __future__ import annotations

from argparse import ArgumentParser

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from accounts.selectors import get_member, get_workspace
from keys.memberships import end_membership


class Command(JsonCommand):
    help = "Remove a member from a workspace and revoke the keys they created."

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("workspace", help="Workspace ID, slug or name.")
        parser.add_argument("email", help="Email of the member.")
        parser.add_argument(
            "--keep-keys", action="store_true", help="Transfer their keys to the workspace instead."
        )

    def answer(self, *, workspace: str, email: str, keep_keys: bool, **options: object) -> Answer:
        member = get_member(get_workspace(workspace), email)
        keys = end_membership(member, keeps_keys=keep_keys, actor=ACTOR)
        return {
            "workspace_id": str(member.workspace_id),
            "email": member.user.email,
            "keys_revoked": 0 if keep_keys else keys,
            "keys_kept": keys if keep_keys else 0,
        }

    def describe(self, answer: Answer) -> str:
        return "{email} was removed; {keys_revoked} keys were revoked.".format(**answer)
