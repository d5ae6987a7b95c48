"""Asks an image model of the installation for a picture, for the tool that makes them.

The tool has a price for each picture: what the model's provider charges is the operator's.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import msgspec

from gateway.core.call import Call, CallFacts
from gateway.core.call_identity import CallIdentity
from gateway.core.errors import GatewayError, NoUpstreamAvailable
from gateway.core.grant import Grant
from gateway.core.images import ImagesAnswer, ImagesRequest
from gateway.core.money import Price
from gateway.providers.parameters import check_parameters
from gateway.snapshot.holder import SnapshotHolder
from gateway.snapshot.types import TargetRecord
from gateway.streaming.relay import Exchange

Ask = Callable[[Call[ImagesRequest], Grant, TargetRecord], Exchange]
_encode = msgspec.json.encode


class _Image(msgspec.Struct):
    url: str | None = None
    b64_json: str | None = None


_read_image = msgspec.json.Decoder(_Image).decode


class ImageMaker:
    """For all calls of a process. ask: makes the exchange of a request with a provider."""

    def __init__(self, snapshot: SnapshotHolder, ask: Ask) -> None:
        self._snapshot = snapshot
        self._ask = ask

    async def make(self, model: str, prompt: str, size: str) -> Sequence[str]:
        """Return the address or the data URL of a picture. Raises GatewayError."""
        found = self._snapshot.current.find(model)
        if found is None or not found.targets:
            raise NoUpstreamAvailable
        call = _write(model, prompt, size)
        check_parameters(call, found)
        failed: GatewayError = NoUpstreamAvailable()
        for target in found.targets:
            exchange = self._ask(call, _grant(model), target)
            try:
                answer = await exchange.read()
            except GatewayError as error:
                failed = error
                if not error.retry_elsewhere:
                    break
                continue
            assert isinstance(answer, ImagesAnswer)
            return [_address_of(raw) for raw in answer.images]
        raise failed


def _write(model: str, prompt: str, size: str) -> Call[ImagesRequest]:
    fields = {"model": _encode(model), "prompt": _encode(prompt)}
    if size:
        fields["size"] = _encode(size)
    facts = CallFacts(
        model=model,
        stream=False,
        user="",
        episode_id="",
        idempotency_key="",
        requires_parameters=False,
        body=b"",
    )
    return Call(facts, ImagesRequest(fields=fields, prompt=prompt))


def _grant(model: str) -> Grant:
    """Return what an adapter asks for beside the call: this request has no hold of its own."""
    identity = CallIdentity(call_id="", workspace_id="", key_id="", at=time.time())
    return Grant(
        identity=identity,
        model=model,
        price=Price(0, 0, 0),
        hold_nusd=0,
        limit_tokens=0,
        cap_tokens=None,
    )


def _address_of(raw: msgspec.Raw) -> str:
    image = _read_image(raw)
    return image.url or f"data:image/png;base64,{image.b64_json}"
