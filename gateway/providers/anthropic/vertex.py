"""Chat completions over Anthropic's Messages API as Google Cloud's Vertex AI serves it.

References: https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai and
https://cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude
"""

from __future__ import annotations

from urllib.parse import quote

from msgspec.structs import replace

from gateway.core.chat import ChatCall
from gateway.core.grant import Grant
from gateway.providers.anthropic.chat import AnthropicChat
from gateway.providers.anthropic.envelope import Envelope
from gateway.providers.base import UpstreamRequest
from gateway.snapshot.types import TargetRecord


class VertexAnthropicChat(AnthropicChat):
    """Chat completions for providers of the `anthropic_vertex` dialect."""

    envelope = Envelope(version="vertex-2023-10-16", has_model=False)

    def build_request(self, call: ChatCall, grant: Grant, target: TargetRecord) -> UpstreamRequest:
        request = super().build_request(call, grant, target)
        # Refusals name the project, which is the operator's own affair.
        project = target.settings.get("project", "")
        return replace(request, hidden=(project,)) if project else request

    def address(self, call: ChatCall, target: TargetRecord) -> str:
        action = "streamRawPredict" if call.facts.stream else "rawPredict"
        # Versions are behind an @, which stays as it is.
        model = quote(target.native_model, safe="@")
        return f"{target.base_url}/publishers/anthropic/models/{model}:{action}"
