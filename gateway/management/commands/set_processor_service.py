"""set_processor_service: add, change or remove a service that a workspace's processors may ask."""

from __future__ import annotations

import os
from argparse import ArgumentParser

from accounts.management.json_command import ACTOR, Answer, JsonCommand
from accounts.models import Workspace
from accounts.selectors import get_workspace
from gateway.management.credential_options import add_variable_option
from gateway.models import ProcessorService
from gateway.services.processor_services import add_service, remove_service, update_service
from gateway.services.processor_tests import test_service


class Command(JsonCommand):
    help = (
        "Add a Presidio or LanguageTool server that requests of a workspace can use as service_id, "
        "or change it. Private addresses must be in TOLLHOUSE_FETCH_ALLOWED_NETWORKS."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("workspace", help="Workspace ID, slug or name.")
        parser.add_argument("name", help="The service_id: letters, digits, - and _.")
        parser.add_argument("--kind", choices=ProcessorService.Kind.values, help="Required if new.")
        parser.add_argument("--url", help="For example https://presidio.example.com.")
        add_variable_option(parser, "the bearer token. Empty: removes the token.")
        parser.add_argument("--remove", action="store_true")
        parser.add_argument("--test", action="store_true", help="Send it a test sentence.")

    def answer(
        self, *, workspace: str, name: str, remove: bool, test: bool, **options: str | None
    ) -> Answer:
        found = get_workspace(workspace)
        row = ProcessorService.objects.filter(workspace=found, name=name).first()
        answer: Answer = {"workspace": found.slug, "service": name}
        if remove:
            if row is not None:
                remove_service(row, actor=ACTOR)
            return answer | {"exists": False, "changed": row is not None}
        row, changed = self._put(found, name, row, options)
        answer |= {"exists": True, "changed": changed, "kind": row.kind, "url": row.url}
        return answer | ({"test": test_service(row).message} if test else {})

    def describe(self, answer: Answer) -> str:
        if not answer["exists"]:
            return f"{answer['workspace']} has no service {answer['service']}."
        said = f"{answer['workspace']} has the service {answer['service']} ({answer['url']})."
        return f"{said} {answer['test']}" if "test" in answer else said

    def _put(
        self,
        workspace: Workspace,
        name: str,
        row: ProcessorService | None,
        options: dict[str, str | None],
    ) -> tuple[ProcessorService, bool]:
        url, credential = options["url"], read_credential(options["credential_env"])
        if row is not None:
            if options["kind"] not in (None, row.kind):
                raise ValueError(
                    "The kind of a service cannot be changed. Remove it and add another."
                )
            return row, update_service(row, url=url, credential=credential, actor=ACTOR)
        kind = options["kind"]
        if url is None or kind is None:
            raise ValueError("A new service needs --kind and --url.")
        added = add_service(
            workspace, name=name, kind=kind, url=url, credential=credential or "", actor=ACTOR
        )
        return added, True


def read_credential(variable: str | None) -> str | None:
    """Return what stands in a variable of the environment. Raises ValueError."""
    if variable is None:
        return None
    if variable not in os.environ:
        raise ValueError(f"The variable {variable} is not set.")
    return os.environ[variable]
