"""What adapters have in common that translate rankings to another dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import msgspec

from gateway.core.grant import Grant
from gateway.core.rerank import RerankCall, count_searches
from gateway.providers.catalogue import BY_NAME
from gateway.providers.openai_compatible.request import find_url, write_headers
from gateway.providers.ranking import OURS_OF_RANKING, RankingRequest, refuse_stream
from gateway.providers.secrets import secrets_of
from gateway.providers.translation import BYTES_PER_TOKEN, fields_of, left_out, wanted_fields
from gateway.providers.upstream_errors import read_error
from gateway.snapshot.types import TargetRecord

# What every dialect is told, and what is ours to keep to.
ALWAYS_TRANSLATED = OURS_OF_RANKING | {"model", "query", "documents", "top_n"}
_encode = msgspec.json.encode


class TextRanking:
    """For one dialect. Derived classes read answers."""

    # Nothing is taken unseen.
    supported: frozenset[str] = frozenset()
    # How the dialect spells the fields of a call; what is not there is dropped.
    names: ClassVar[Mapping[str, str]] = {}
    # How it spells the documents.
    documents: ClassVar[str] = "documents"
    # What it is told beside them, unless the caller says it.
    defaults: ClassVar[Mapping[str, object]] = {}

    def check(self, call: RerankCall, target: TargetRecord) -> set[str]:
        return left_out(fields_of(call, target), ALWAYS_TRANSLATED | self.names.keys())

    def build_request(self, call: RerankCall, grant: Grant, target: TargetRecord) -> RankingRequest:
        payload = call.payload
        fields = wanted_fields(call, grant, target)
        said: dict[str, object] = {"model": target.native_model, **self.defaults}
        for ours, theirs in self.names.items():
            if ours in fields:
                said[theirs] = msgspec.Raw(fields[ours])
        most = BY_NAME[target.kind].most_inputs or len(payload.documents)
        requests: list[RankingRequest] = []
        for start in range(0, len(payload.documents), most):
            documents = payload.documents[start : start + most]
            body = _encode(said | {self.documents: documents})
            requests.append(
                RankingRequest(
                    url=find_url(target, "rerank"),
                    headers=write_headers(grant, target),
                    body=body,
                    prompt_tokens=len(body) // BYTES_PER_TOKEN + 1,
                    answers=min(payload.top_n, len(documents)),
                    documents=len(documents),
                    searches=count_searches(len(documents)),
                    first=start,
                )
            )
        requests[0].further = tuple(requests[1:])
        return requests[0]

    open_decoder = staticmethod(refuse_stream)
    read_error = staticmethod(read_error)
    secrets = staticmethod(secrets_of)
