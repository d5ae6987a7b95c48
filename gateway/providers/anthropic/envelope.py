"""What stands around the body of a Messages request: clouds that serve the API want it to differ.

Anthropic: model and stream in the body, the version in a header. Vertex AI: the model in the URL,
the version in the body. Bedrock: model and stream in the URL, version and betas in the body.
References: https://platform.claude.com/docs/en/build-with-claude/claude-on-vertex-ai
https://platform.claude.com/docs/en/build-with-claude/claude-on-amazon-bedrock
"""

from __future__ import annotations

import msgspec

from gateway.core.call import NativeBody

BETAS = "anthropic-beta"
_encode = msgspec.json.encode


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """The fields around what is asked, as one cloud takes them."""

    # The value of anthropic_version; empty where a header has it.
    version: str = ""
    has_model: bool = True
    has_stream: bool = True
    # False where the betas that a caller asks for are a field of the body.
    takes_betas_in_header: bool = True

    def write(
        self, model: str, native: NativeBody | None, *, stream: bool
    ) -> dict[str, bytes | None]:
        """Return the fields, None for those that are not to be there. native: the caller's own
        body, whose headers may ask for betas."""
        said: dict[str, bytes | None] = {
            "model": _encode(model) if self.has_model else None,
            "stream": b"true" if stream and self.has_stream else None,
        }
        if self.version:
            said["anthropic_version"] = _encode(self.version)
        betas = native.headers.get(BETAS, "") if native is not None else ""
        if betas and not self.takes_betas_in_header:
            wanted = [beta.strip() for beta in betas.split(",")]
            said["anthropic_beta"] = _encode([beta for beta in wanted if beta])
        return said
