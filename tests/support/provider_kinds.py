"""A kind of provider with settings, for tests that are about no real one."""

from __future__ import annotations

import re

import pytest

from gateway.providers.catalogue import BY_NAME, ProviderKind, ProviderSetting

CLOUD = ProviderKind(
    "cloud",
    "Cloud",
    "https://models.{region}.cloud.example/{stage}",
    "CLOUD_API_KEY",
    settings=(
        ProviderSetting(
            "region",
            "Region",
            required=True,
            pattern=re.compile("[a-z]+-[0-9]"),
            example="eu-1",
            env_var="CLOUD_REGION",
        ),
        ProviderSetting("stage", "Stage", default="v1", choices=("v1", "beta")),
        ProviderSetting("project", "Project ID", help="As the console of the cloud shows it."),
    ),
    base_urls=(("region", "all-0", "https://models.cloud.example/{stage}"),),
)


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> ProviderKind:
    """The kind, as long as the test runs."""
    monkeypatch.setitem(BY_NAME, CLOUD.name, CLOUD)
    return CLOUD
