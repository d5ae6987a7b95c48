"""What adapters of OpenAI's dialect share whose operations have one answer and no streams.

The caller's own fields go upstream, but for what the provider does not take or spells differently.
"""

from __future__ import annotations

from collections.abc import Mapping

from gateway.core.call import Call, Payload
from gateway.core.errors import EndpointNotSupported, UnsupportedParameter
from gateway.core.grant import Grant
from gateway.providers.base import Decoder, UpstreamRequest
from gateway.providers.catalogue import BY_NAME
from gateway.providers.openai_compatible.request import (
    BYTES_PER_TOKEN,
    change_fields,
    find_url,
    write_headers,
)
from gateway.providers.request_body import write_body
from gateway.providers.secrets import secrets_of
from gateway.providers.upstream_errors import read_error
from gateway.snapshot.types import TargetRecord


class PlainAdapter:
    """For one operation, which not every provider of the dialect has."""

    operation: str
    # Whether a provider has the operation is looked at for every call.
    supported: frozenset[str] = frozenset()
    # Fields that the operation has nowhere.
    drops: frozenset[str] = frozenset()

    def check(self, call: Call[Payload], target: TargetRecord) -> set[str]:
        kind, payload = BY_NAME[target.kind], call.payload
        if self.operation not in kind.paths:
            raise EndpointNotSupported(
                f"{call.facts.model} does not support {self.operation}.", param="model"
            )
        dropped = (kind.drops | self.drops).intersection(payload.fields)
        return {name for name in dropped if payload.has(name)}

    def build_request(
        self, call: Call[Payload], grant: Grant, target: TargetRecord
    ) -> UpstreamRequest:
        fields = call.payload.fields
        return self._request(target, grant, fields, change_fields(call.payload, grant, target))

    def _request(
        self,
        target: TargetRecord,
        grant: Grant,
        fields: Mapping[str, bytes],
        changed: dict[str, bytes | None],
    ) -> UpstreamRequest:
        body = write_body(fields, changed)
        return UpstreamRequest(
            url=find_url(target, self.operation),
            headers=write_headers(grant, target),
            body=body,
            prompt_tokens=len(body) // BYTES_PER_TOKEN + 1,
        )

    def open_decoder(self, request: UpstreamRequest) -> Decoder:
        raise UnsupportedParameter("There is no stream of this.", param="stream")

    read_error = staticmethod(read_error)
    secrets = staticmethod(secrets_of)
