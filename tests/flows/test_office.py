"""What fixtures rely on: they may be made twice against one site."""

from __future__ import annotations

import pytest

from tests.flows.site import Site


def test_the_same_order_adds_once_and_another_of_the_name_is_refused(site: Site) -> None:
    order = {"provider": "fake", "native_model": "twice"}

    names = [site.add_model("added-twice", **order) for _ in range(2)]

    assert names == ["added-twice"] * 2
    with pytest.raises(AssertionError, match="already exists"):
        site.add_model("added-twice", provider="fake", native_model="other")
