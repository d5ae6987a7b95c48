"""Models at Google Cloud's Vertex AI, whichever their dialect."""

from __future__ import annotations

from tests.flows.caller import Caller
from tests.flows.site import Site
from tests.flows.transports import TRANSPORTS, add_provider, named

PROJECT, LOCATION = "secret-project-7", "europe-west1"
PARENT = f"/v1/projects/{PROJECT}/locations/{LOCATION}"


def add_vertex(site: Site, model: str, *, kind: str, native_model: str, path: str = PARENT) -> None:
    """Add a model and a provider for it, of each transport.

    path: of the provider, behind the fake upstream's origin.
    """
    for transport in TRANSPORTS:
        provider = add_provider(
            site,
            f"{model}-provider",
            transport=transport,
            kind=kind,
            settings={"project": PROJECT, "location": LOCATION},
            base_url=f"{site.upstream.origin}{path}",
        )
        site.add_model(named(model, transport), provider=provider, native_model=native_model)


def assert_project_is_not_told(caller: Caller) -> None:
    told = f"Publisher+Model+`projects/{PROJECT}/locations/{LOCATION}`+was+not+found."

    answer = caller.ask(f"script:fail=404&message={told}")

    assert PROJECT not in answer.body.decode()
    assert "was not found" in answer.error["message"]
