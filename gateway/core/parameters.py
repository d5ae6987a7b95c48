"""Members of a call's body that have a meaning of their own, whoever writes them."""

from __future__ import annotations

# They would steer where we connect or with what credential; never a caller's business.
STEERING = frozenset(
    {
        "api_base",
        "base_url",
        "api_key",
        "custom_llm_provider",
        "deployment_id",
        "extra_headers",
        "extra_body",
        "url_idx",
        "organization",
    }
)
# A hold is counted from these, or they say what the call is: they come with each call or not at
# all, and no model has defaults for them.
OF_EACH_CALL = frozenset(
    {
        "model",
        "messages",
        "stream",
        "stream_options",
        "n",
        "max_tokens",
        "max_completion_tokens",
        "tools",
        "functions",
        "response_format",
    }
)
# Of `stop`: the most that an installation can allow.
MOST_STOP_SEQUENCES = 64
