"""The provider that is built in."""

from __future__ import annotations

from gateway.providers.catalogue.kind import AUDIO, ProviderKind, paths

SIMULATED = "simulated"

KINDS = (
    ProviderKind(
        SIMULATED,
        "Simulated (built in)",
        "simulated://local",
        needs_credential=False,
        takes_base64=True,
        paths=paths("completions", "images", "moderations", "rerank", *AUDIO),
        streams_speech=True,
        tells_duration=True,
        completes_any_model=True,
    ),
)
