"""Callers that use the gateway as a client of one of the source products does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.flows.caller import CHAT, Answer, Caller, LiveCall
from tests.flows.site import Site


@dataclass(frozen=True)
class Client(Caller):
    """A caller whose key has a product's profile. path: where that product's endpoint is."""

    path: str = CHAT

    def begin(self, prompt: str = "hello there", **options: Any) -> LiveCall:
        return super().begin(prompt, **{"path": self.path, **options})

    def get(self, address: str) -> Answer:
        """Read one of the endpoints beside the product's, such as models."""
        root = self.path.removesuffix("/chat/completions")
        return self.ask(method="GET", path=f"{root}/{address}", raw=b"")

    def sent(self, **members: Any) -> dict[str, Any]:
        """Make a call with these members; return the body that reached the provider."""
        answer = self.ask("script:echo", **members)
        assert answer.status == 200, answer.body
        body: dict[str, Any] = json.loads(answer.echo["body_text"])
        return body

    def example(self, body: dict[str, Any]) -> Answer:
        """Send a product's own example, with its model and messages."""
        return self.ask(raw=json.dumps(body).encode())


def client_of(
    site: Site,
    profile: str,
    *,
    model: str = "fake-model",
    path: str = CHAT,
    limits: Mapping[str, int] | None = None,
    **rules: Any,
) -> Client:
    """Return a client with a workspace of its own. rules, limits: of its key; credit_nusd as
    well."""
    made = site.caller(**rules)
    if limits:
        site.office.do("limit_key", key_id=made.key_id, **limits)
    if profile != "unified":
        site.office.do("compatibility", key_id=made.key_id, compat_profile=profile)
    return Client(made.port, made.secret, made.key_id, made.workspace_id, model, path)
