"""What OpenTelemetry's conventions for generative AI call things. They are still in development:
names change here and nowhere else."""

from __future__ import annotations

from typing import Final

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
RESPONSE_MODEL: Final = "gen_ai.response.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
CACHED_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
TOKEN_TYPE: Final = "gen_ai.token.type"  # noqa: S105
ERROR: Final = "error.type"
HTTP_STATUS: Final = "http.response.status_code"

# Histograms.
TOKEN_USAGE: Final = "gen_ai.client.token.usage"  # noqa: S105
DURATION: Final = "gen_ai.client.operation.duration"
FIRST_CHUNK: Final = "gen_ai.client.operation.time_to_first_chunk"
OUTPUT_CHUNK: Final = "gen_ai.client.operation.time_per_output_chunk"

# Ours.
CALL: Final = "tollhouse.call.id"
WORKSPACE: Final = "tollhouse.workspace.id"
KEY: Final = "tollhouse.key.id"
ENDPOINT: Final = "tollhouse.endpoint"
STATUS: Final = "tollhouse.status"
CHARGE_NUSD: Final = "tollhouse.charge_nusd"
FALLBACK_FROM: Final = "tollhouse.fallback_from"
REFUSED_BY: Final = "tollhouse.refused_by"

# Operations by endpoint; any other is named as its endpoint is.
OPERATIONS: Final = {
    "anthropic_messages": "chat",
    "chat_completions": "chat",
    "completions": "text_completion",
}


def operation_of(endpoint: str) -> str:
    return OPERATIONS.get(endpoint, endpoint)
