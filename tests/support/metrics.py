"""Ask a running gateway for its metrics and probes, over a socket."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, NamedTuple

from prometheus_client.parser import text_string_to_metric_families


class Page(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found


def get(url: str, *, token: str = "", host: str = "", method: str = "GET") -> Page:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if host:
        headers["Host"] = host
    request = urllib.request.Request(url, headers=headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return Page(answer.status, dict(answer.headers), answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return Page(error.code, dict(error.headers), error.read())


class Metrics:
    """What one scrape has said."""

    def __init__(self, text: str) -> None:
        self.families = {family.name: family for family in text_string_to_metric_families(text)}

    def names(self) -> set[str]:
        """Return the names of all samples, as queries use them."""
        return {sample.name for family in self.families.values() for sample in family.samples}

    def sum(self, name: str, **labels: str) -> float:
        """Add up the samples of this name whose labels include these; 0 where there are none."""
        return sum(
            sample.value
            for family in self.families.values()
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )


def scrape(url: str, *, token: str = "") -> Metrics:
    page = get(url, token=token)
    assert page.status == 200, page
    return Metrics(page.body.decode())
