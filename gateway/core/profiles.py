"""Compatibility profiles: what differs between the products whose clients we serve, as data.

One row a product (gateway contract, section 3.2); `unified` is our own. Everything that is not
here is the same for all. How errors are written: gateway.http.error_format.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

MB = 1024 * 1024


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """One flavour of the endpoint."""

    name: str
    # True for unified, in whatever way an installation has set it.
    is_ours: bool = False
    streams_by_default: bool = False
    id_prefix: str = "chatcmpl-"
    # Where a stream's usage goes:
    #   auto        trailing chunk when asked for, none when declined, else a chunk with an
    #               empty choice after the finish chunk
    #   on_request  trailing chunk when asked for, else none
    #   on_finish   on the finish chunk when asked for, else none
    #   separate    always a trailing chunk
    #   two_chunk   always two trailing chunks, the second with the credits
    usage_mode: str = "auto"
    # The names under which reasoning is sent.
    reasoning: tuple[str, ...] = ("reasoning", "reasoning_content")
    shows_empty_tool_calls: bool = False
    # system_fingerprint and service_tier: as the provider gave them (given), empty when it gave
    # none (blank), or never (none).
    markers: str = "given"
    allows_many_choices: bool = True
    # A model that the key may not use is reported as one that does not exist.
    hides_models: bool = False
    # The values that reasoning_effort may have; empty for every one we know.
    efforts: tuple[str, ...] = ()
    # Errors of all endpoints but calls to models are written as unified's.
    formats_only_call_errors: bool = False
    # A stream that a processor needs the whole answer of becomes JSON.
    answers_streams_as_json: bool = False
    # None for the installation's own limit.
    body_limit_bytes: int | None = None
    # How the product's keys begin, the usual one first; two products may share one.
    key_prefixes: tuple[str, ...] = ()


UNIFIED = Profile(name="unified", is_ours=True)
# two_chunk is not among them: what sums up the chunks would count double.
OWN_USAGE_MODES = ("auto", "on_request", "on_finish", "separate")
ALL: tuple[Profile, ...] = (
    UNIFIED,
    Profile(
        name="inferada",
        streams_by_default=True,
        usage_mode="on_request",
        answers_streams_as_json=True,
        key_prefixes=("inf_",),
    ),
    Profile(
        name="bud",
        id_prefix="",
        usage_mode="on_finish",
        reasoning=("reasoning_content",),
        shows_empty_tool_calls=True,
        markers="blank",
        allows_many_choices=False,
        hides_models=True,
        body_limit_bytes=100 * MB,
        key_prefixes=("bud_client_", "bud_admin_"),
    ),
    Profile(name="infery", usage_mode="two_chunk", key_prefixes=("inf_",)),
    Profile(
        name="hyperinfer",
        id_prefix="gen-",
        usage_mode="separate",
        reasoning=("reasoning",),
        markers="none",
        allows_many_choices=False,
        efforts=("low", "medium", "high"),
        formats_only_call_errors=True,
        key_prefixes=("hi-",),
    ),
    Profile(
        name="inferexchange",
        usage_mode="on_request",
        markers="none",
        allows_many_choices=False,
        body_limit_bytes=MB,
        key_prefixes=("sk-infer-",),
    ),
)
BY_NAME: Mapping[str, Profile] = {profile.name: profile for profile in ALL}


# How keys may begin where an installation names no prefixes of its own; ours first.
OWN_PREFIX = "sk-gw-"
KEY_PREFIXES: tuple[str, ...] = tuple(
    dict.fromkeys([OWN_PREFIX, *(prefix for each in ALL for prefix in each.key_prefixes), "sk-t0-"])
)


def profiles_of(prefix: str) -> tuple[Profile, ...]:
    """Return the products whose keys begin so."""
    return tuple(profile for profile in ALL if prefix in profile.key_prefixes)


_GUESSED = {prefix: found[0] for prefix in KEY_PREFIXES if len(found := profiles_of(prefix)) == 1}


def guess_by_prefix(secret: str) -> Profile:
    """Return the profile that a key's prefix means, if only one product uses it, else unified."""
    for prefix, profile in _GUESSED.items():
        if secret.startswith(prefix):
            return profile
    return UNIFIED
