"""A provider of each kind of OpenAI's dialect, at the fake upstream, as strict as the real one."""

from __future__ import annotations

import pytest

from gateway.providers import catalogue
from tests.flows.caller import Caller
from tests.flows.site import CREDENTIAL, Site

KINDS = [
    kind.name
    for kind in catalogue.ALL
    if kind.dialect == "openai" and not kind.settings and kind.name != catalogue.SIMULATED
]


class LookAlikes:
    """Models by the kind of their provider, added when they are first asked for."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def caller(self, kind: str, native_model: str = "native") -> Caller:
        """Return a caller who asks a model of this kind."""
        return self.site.caller().with_(model=self._add(kind, native_model))

    def _add_provider(self, kind: str) -> str:
        base_url = f"{self.site.upstream.origin}/{kind}/v1"
        self.site.office.do(
            "provider", name=f"like-{kind}", kind=kind, base_url=base_url, credential=CREDENTIAL
        )
        return f"like-{kind}"

    def _add(self, kind: str, native_model: str) -> str:
        name = f"like-{kind}/{native_model}"
        self.site.add_model(name, provider=self._add_provider(kind), native_model=native_model)
        return name


@pytest.fixture(scope="session")
def look_alikes(site: Site) -> LookAlikes:
    return LookAlikes(site)
