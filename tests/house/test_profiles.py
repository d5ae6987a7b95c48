"""Two lists of profiles, one for each side of the house, say the same."""

from __future__ import annotations

from gateway.core.profiles import BY_NAME
from keys.models import CompatProfile


def test_keys_offer_the_profiles_that_the_gateway_speaks() -> None:
    assert list(CompatProfile.values) == list(BY_NAME)
