"""Callers that may store files."""

from __future__ import annotations

import pytest

from tests.flows.caller import Caller
from tests.flows.site import Site
from tests.flows.stored_files.asking import SCOPES


@pytest.fixture
def caller(site: Site) -> Caller:
    return site.caller(scopes=SCOPES)
